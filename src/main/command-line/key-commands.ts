import { rm, writeFile } from 'node:fs/promises';
import { writeNewFile } from '../../adapters/files/durable-files.ts';
import { mintKey } from '../../adapters/tokens/token.ts';
import type { CreatedKey, HandOver } from '../../application/keys/create-key.ts';
import { throwIfDamaged } from '../../application/keys/stored-keys.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
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
  await makeKey(given, session, ({ createKey }, handOver) => createKey.execute(draft, handOver));
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
  await withKeys(session, async ({ getKey, revokeKey }) => {
    const { revokedAt } = await getKey.execute(id);
    const key = await revokeKey.execute(id);
    const already = revokedAt ? ` already, since ${revokedAt.toISOString()}` : '';
    const text = `the key ${id} is revoked${already}; every service refuses it within 10 seconds\n`;
    await session.answer(given, text, keyJson(key, session.now));
  });
}

export async function rotateCommand(given: Given, session: Session): Promise<void> {
  const id = idOf(given);
  const rotation = { overlapMs: overlapMsOf(given), expiresAt: expiryOf(given, session.now) };
  await makeKey(given, session, ({ rotateKey }, handOver) => rotateKey.execute(id, rotation, handOver));
}

type Make = (useCases: UseCases, handOver: HandOver) => Promise<CreatedKey>;

/**
 * Makes a key, and prints its token, which is stored nowhere, or writes it to a new file. The file comes before the key,
 * so no failure leaves a key that works and nobody has. An ID on the command line names the replaced key.
 */
async function makeKey(given: Given, session: Session, make: Make): Promise<void> {
  const { output: file } = given.options;
  const [replaces] = given.positionals;
  const minted = mintKey();
  await using undo = new AsyncDisposableStack();
  // Before a SQLite file is created.
  if (file !== undefined) {
    await writeNewFile(file, (partial) => writeFile(partial, `${minted.token}\n`));
    undo.defer(() => rm(file, { force: true }));
  }
  const handOver: HandOver = async ({ key, token }) => {
    const json = { ...keyJson(key, session.now), ...(replaces !== undefined && { replaces }) };
    if (file === undefined) await session.answer(given, `${token}\n`, { ...json, key: token });
    else await session.answer(given, `the key ${key.id} is in ${file}\n`, { ...json, file });
    undo.move();
  };
  const work = async (useCases: UseCases) => {
    try {
      await make(useCases, handOver);
    } catch (error) {
      // A storage that has not answered may have the key.
      if (error instanceof StorageUnavailable && file !== undefined && !undo.disposed) {
        undo.move();
        session.note(`${file} stays, because its key may be stored: try it, or remove the file`);
      }
      throw error;
    }
  };
  await withKeys(session, work, { mayCreate: replaces === undefined, mint: () => minted });
}

type UseCases = Pick<Parts, 'createKey' | 'getKey' | 'listKeys' | 'revokeKey' | 'rotateKey'>;

/** Every change is audited. */
async function withKeys(
  session: Session,
  work: (useCases: UseCases) => Promise<unknown>,
  { mayCreate = false, mint = mintKey } = {},
): Promise<void> {
  const storage = storageOf('URL', undefined, session, 'set API_KEYS for the service instead');
  await using opened = await open(storage, { for: 'keys', mayCreate });
  const keys = auditedKeys(opened.keys, await openCommandLog(session.io.stderr));
  await work(compose({ keys, mint, now: () => session.now }));
}
