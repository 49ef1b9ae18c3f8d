import type { HandOver } from '../../application/keys/create-key.ts';
import { throwIfDamaged } from '../../application/keys/stored-keys.ts';
import { newApiKey } from '../../domain/api-key.ts';
import { auditedKeys } from '../log/audit.ts';
import { openCommandLog } from '../log/open-log.ts';
import { compose, type Parts } from '../program/compose.ts';
import { open, storageOf } from './command-storage.ts';
import { expiryOf, idOf, labelOf, overlapMsOf, rateLimitOf, scopesOf } from './key-options.ts';
import { keyJson, keyLines, keyTable } from './key-report.ts';
import type { Given, Session } from './session.ts';

export async function createCommand(given: Given, session: Session): Promise<void> {
  const draft = {
    label: labelOf(given),
    scopes: scopesOf(given),
    expiresAt: expiryOf(given, session.now),
    rateLimit: rateLimitOf(given),
  };
  // Refuses an invalid draft before a SQLite file is created.
  newApiKey(draft, session.now);
  const create = ({ createKey }: UseCases) => createKey.execute(draft, handOver(given, session));
  await withKeys(session, create, { mayCreate: true });
}

export async function listCommand(given: Given, session: Session): Promise<void> {
  await withKeys(session, async ({ listKeys }) => {
    const all = await listKeys.execute();
    const json = all.map((key) => keyJson(key, session.now));
    await session.answer(given, keyTable(all, session.now), json);
    // Fails only after the list, which shows the other keys.
    all.forEach(throwIfDamaged);
  });
}

export async function showCommand(given: Given, session: Session): Promise<void> {
  const id = idOf(given);
  await withKeys(session, async ({ getKey }) => {
    const key = await getKey.execute(id);
    await session.answer(given, keyLines(key, session.now), keyJson(key, session.now));
  });
}

export async function revokeCommand(given: Given, session: Session): Promise<void> {
  const id = idOf(given);
  await withKeys(session, async ({ revokeKey }) => {
    const key = await revokeKey.execute(id);
    const text = `the key ${id} is revoked; every service refuses it within 10 seconds\n`;
    await session.answer(given, text, keyJson(key, session.now));
  });
}

export async function rotateCommand(given: Given, session: Session): Promise<void> {
  const id = idOf(given);
  const rotation = { overlapMs: overlapMsOf(given), expiresAt: expiryOf(given, session.now) };
  await withKeys(session, ({ rotateKey }) => rotateKey.execute(id, rotation, handOver(given, session)));
}

/** Prints the token of a new key, which is stored nowhere. An ID on the command line names the replaced key. */
function handOver(given: Given, session: Session): HandOver {
  const [id] = given.positionals;
  const replaces = id === undefined ? {} : { replaces: id };
  return ({ key, token }) =>
    session.answer(given, `${token}\n`, { ...keyJson(key, session.now), key: token, ...replaces });
}

type UseCases = Pick<Parts, 'createKey' | 'getKey' | 'listKeys' | 'revokeKey' | 'rotateKey'>;

/** Every change is audited. */
async function withKeys(
  session: Session,
  work: (useCases: UseCases) => Promise<unknown>,
  { mayCreate = false } = {},
): Promise<void> {
  const storage = storageOf('URL', undefined, session, 'set API_KEYS for the service instead');
  await using opened = await open(storage, { for: 'keys', mayCreate });
  const keys = auditedKeys(opened.keys, await openCommandLog(session.io.stderr));
  await work(compose({ keys, now: () => session.now }));
}
