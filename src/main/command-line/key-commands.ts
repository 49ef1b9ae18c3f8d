import { rm, writeFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { refuseExisting, writeNewFile } from '../../adapters/files/durable-files.ts';
import { mintKey } from '../../adapters/tokens/token.ts';
import { type CreatedKey, CreateKey, type Deliver } from '../../application/keys/create-key.ts';
import { RotateKey } from '../../application/keys/rotate-key.ts';
import { GetKey, RevokeKey, throwIfDamaged } from '../../application/keys/stored-keys.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { API_KEY_ID, newApiKey, type Scope, SCOPES } from '../../domain/api-key.ts';
import type { RateLimit } from '../../domain/rate-limit.ts';
import { parseDurationMs, parseRateLimit, RATE_LIMIT_FORM } from '../config/forms.ts';
import { withAuditLines } from '../log/audit.ts';
import { openCommandLog } from '../log/open-log.ts';
import { asDisposable, reportUsed, storageOf } from './command-storage.ts';
import { keyJson, keyLines, keyTable } from './key-report.ts';
import type { ActionOf, Session } from './session.ts';

const EXPIRES = 'how long the new key is valid: 365d, 12h or never';
const OUTPUT = 'write the new key to this new file, which only its owner can read, and do not print it';

export function addKeyCommands(petstore: Command, actionOf: ActionOf): void {
  const keys = petstore
    .command('keys')
    .description(
      'Creates, lists, rotates and revokes API keys. They are stored beside the pets, in DATABASE_URL. Services may ' +
        'use that storage.',
    );
  keys
    .command('create')
    .description(
      'Creates a key and writes it to standard output or a file, once: only its SHA-256 is stored. ' +
        'Nothing else goes to standard output: KEY=$(petstore keys create --label NAME). In JSON, it is "key".',
    )
    .option('--label <LABEL>', 'what the key is for; required')
    .option('--scopes <SCOPES>', 'pets:read, pets:write or both, separated by a comma', SCOPES.join(','))
    .option(
      '--rate-limit <LIMIT>',
      'a limit for this key instead of RATE_LIMIT, such as 600/60s',
      rateLimitOf,
    )
    .addOption(duration('--expires <DURATION>', EXPIRES, validityMsOf, '365d'))
    .option('--output <FILE>', OUTPUT)
    .action(actionOf(createKey));
  keys
    .command('list')
    .description('Lists all keys, including revoked and expired keys.')
    .action(actionOf(listKeys));
  keys
    .command('show')
    .description('Shows one key.')
    .argument('<ID>', 'the part of a key between its underscores', keyId)
    .action(actionOf(showKey));
  keys
    .command('revoke')
    .description('Revokes a key for good: every service refuses it within 10 seconds.')
    .argument('<ID>', 'the part of a key between its underscores', keyId)
    .action(actionOf(revokeKey));
  keys
    .command('rotate')
    .description('Replaces a key: creates a key with the same rights, and lets the old key expire.')
    .argument('<ID>', 'the part of a key between its underscores', keyId)
    .addOption(
      duration('--overlap <DURATION>', 'how long the old key stays valid: 24h, 0s', overlapMsOf, '24h'),
    )
    .addOption(duration('--expires <DURATION>', EXPIRES, validityMsOf, '365d'))
    .option('--output <FILE>', OUTPUT)
    .action(actionOf(rotateKey));
}

type NewKey = { readonly expires: number; readonly output?: string };
type Create = NewKey & { readonly label?: string; readonly scopes: string; readonly rateLimit?: RateLimit };
type Rotate = NewKey & { readonly overlap: number };

function parserFor<T>(parse: (text: string) => T | undefined, rule: string): (text: string) => T {
  return (text) => {
    const value = parse(text);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(rule);
  };
}

/** Returns milliseconds, or `Infinity` for `never`. */
const validityMsOf = parserFor(
  (text) => (text === 'never' ? Infinity : parseDurationMs(text) || undefined),
  '--expires must be a duration such as 365d or 12h, or never',
);
const overlapMsOf = parserFor(parseDurationMs, '--overlap must be a duration such as 24h or 0s');
const rateLimitOf = parserFor(parseRateLimit, `--rate-limit ${RATE_LIMIT_FORM}`);

function duration(flags: string, text: string, parse: (text: string) => number, initial: string): Option {
  return new Option(flags, text).argParser(parse).default(parse(initial), initial);
}

function expiryOf({ expires }: NewKey, now: Date): Date | undefined {
  return expires === Infinity ? undefined : new Date(now.getTime() + expires);
}

const keyId = parserFor(
  (text) => (API_KEY_ID.test(text) ? text : undefined),
  'ID must be the 16 hexadecimal digits between the underscores of a key, as in keys list',
);

async function createKey(session: Session, options: Create): Promise<void> {
  const { label = '', scopes, rateLimit } = options;
  const expiresAt = expiryOf(options, session.now);
  const draft = { label, scopes: scopes.split(',') as Scope[], expiresAt, rateLimit };
  // Checks the label and scopes before a SQLite file is created.
  newApiKey(draft, session.now);
  await makeKey(session, options, (creation, deliver) => creation.execute(draft, deliver));
}

async function listKeys(session: Session): Promise<void> {
  await using keyStorage = await openKeys(session);
  const allKeys = await keyStorage.keys.list();
  const json = allKeys.map((key) => keyJson(key, session.now));
  reportUsed('read from', keyStorage.storage, session);
  await session.answer(keyTable(allKeys, session.now), json);
  // This comes last, so that the list shows the undamaged keys.
  allKeys.forEach(throwIfDamaged);
}

async function showKey(session: Session, id: string): Promise<void> {
  await using keyStorage = await openKeys(session);
  const key = await new GetKey(keyStorage.keys).execute(id);
  reportUsed('read from', keyStorage.storage, session);
  await session.answer(keyLines(key, session.now), keyJson(key, session.now));
}

async function revokeKey(session: Session, id: string): Promise<void> {
  await using keyStorage = await openKeys(session);
  const { revokedAt } = await new GetKey(keyStorage.keys).execute(id);
  const key = await new RevokeKey(keyStorage.keys, session.clock).execute(id);
  if (revokedAt === undefined) reportUsed('wrote to', keyStorage.storage, session);
  const alreadyText = revokedAt ? ` already, since ${revokedAt.toISOString()}` : '';
  const text = `the key ${id} is revoked${alreadyText}; every service refuses it within 10 seconds\n`;
  await session.answer(text, keyJson(key, session.now));
}

async function rotateKey(session: Session, id: string, options: Rotate): Promise<void> {
  const rotation = { overlapMs: options.overlap, expiresAt: expiryOf(options, session.now) };
  const make: Make = (creation, deliver, keys) =>
    new RotateKey(keys, creation, session.clock).execute(id, rotation, deliver);
  await makeKey(session, options, make, id);
}

type Make = (creation: CreateKey, deliver: Deliver, keys: ApiKeyRepository) => Promise<CreatedKey>;

/**
 * Delivers the token, which is stored nowhere. A key that cannot be delivered is revoked.
 *
 * @param replaces the id of the replaced key
 */
async function makeKey(
  session: Session,
  { output: file }: NewKey,
  make: Make,
  replaces?: string,
): Promise<void> {
  const deliver: Deliver = async ({ key, token }) => {
    const json = { ...keyJson(key, session.now), ...(replaces !== undefined && { replaces }) };
    if (file === undefined) return session.answer(`${token}\n`, { ...json, key: token });
    await writeNewFile(file, (partial) => writeFile(partial, `${token}\n`));
    await session.answer(`the key ${key.id} is in ${file}\n`, { ...json, file }).catch(async (error) => {
      await rm(file, { force: true });
      throw error;
    });
  };
  // This check comes before a key or a SQLite file is created.
  if (file !== undefined) refuseExisting(file);
  await using keyStorage = await openKeys(session, replaces === undefined);
  await make(new CreateKey(keyStorage.keys, mintKey, session.clock), deliver, keyStorage.keys);
  reportUsed('wrote to', keyStorage.storage, session);
}

/** Every change of a key is audited. */
async function openKeys(session: Session, mayCreate = false) {
  const log = await openCommandLog(session.io.stderr);
  const storage = storageOf('URL', undefined, session, 'set API_KEYS for the service instead');
  const keyStorage = await asDisposable(storage.kind.openKeys(storage.url, { mayCreate, log: session.host }));
  const { keys, [Symbol.asyncDispose]: close } = keyStorage;
  return { storage, keys: withAuditLines(keys, log), [Symbol.asyncDispose]: close };
}
