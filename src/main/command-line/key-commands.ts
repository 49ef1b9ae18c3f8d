import type { HandOver } from '../../application/keys/create-key.ts';
import { ApiKeyNotFound } from '../../application/keys/errors.ts';
import { throwIfDamaged } from '../../application/keys/parse-stored-api-key.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { newApiKey } from '../../domain/api-key.ts';
import { compose, type Resolve } from '../compose.ts';
import { auditedKeys } from '../log/audit.ts';
import { openCommandLog } from '../log/open-log.ts';
import type { Command, Given } from './command.ts';
import { configuredStorage } from './command-storage.ts';
import { expiryOf, idOf, labelOf, overlapMsOf, rateLimitOf, scopesOf } from './key-options.ts';
import { keyJson, keyLines, keyTable } from './key-report.ts';
import type { Session } from './session.ts';

export const createCommand: Command = {
  async run(given, session) {
    const now = new Date();
    const draft = {
      label: labelOf(given),
      scopes: scopesOf(given),
      expiresAt: expiryOf(given, now),
      rateLimit: rateLimitOf(given),
    };
    // Refuses an invalid draft before a SQLite file is created.
    newApiKey(draft, now);
    await withUseCases(session, { now, mayCreate: true }, (resolve) =>
      resolve('createKey').execute(draft, handOver(given, session, now)),
    );
  },
};

export const listCommand: Command = {
  async run(given, session) {
    const now = new Date();
    await withKeys(session, async (keys) => {
      const all = await keys.list();
      const json = all.map((key) => keyJson(key, now));
      await session.answer(given, keyTable(all, now), json);
      // Fails only after the list, which shows the other keys.
      all.forEach(throwIfDamaged);
    });
  },
};

export const showCommand: Command = {
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    await withKeys(session, async (keys) => {
      const key = await keys.findById(id);
      if (key === undefined) throw new ApiKeyNotFound(id);
      await session.answer(given, keyLines(key, now), keyJson(key, now));
    });
  },
};

export const revokeCommand: Command = {
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    await withUseCases(session, { now }, async (resolve) => {
      const key = await resolve('revokeKey').execute(id);
      const text = `the key ${id} is revoked; every service refuses it within 10 seconds\n`;
      await session.answer(given, text, keyJson(key, now));
    });
  },
};

export const rotateCommand: Command = {
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    const rotation = { overlapMs: overlapMsOf(given), expiresAt: expiryOf(given, now) };
    await withUseCases(session, { now }, (resolve) =>
      resolve('rotateKey').execute(id, rotation, handOver(given, session, now)),
    );
  },
};

/** Prints the token of a new key, which is stored nowhere. An ID on the command line names the replaced key. */
function handOver(given: Given, session: Session, now: Date): HandOver {
  const [id] = given.positionals;
  const replaces = id === undefined ? {} : { replaces: id };
  return ({ key, token }) =>
    session.answer(given, `${token}\n`, { ...keyJson(key, now), key: token, ...replaces });
}

async function withKeys(
  session: Session,
  work: (keys: ApiKeyRepository) => Promise<unknown>,
  { mayCreate = false } = {},
): Promise<void> {
  const storage = configuredStorage(session, 'set API_KEYS for the service instead');
  await using opened = new AsyncDisposableStack();
  const { keys } = opened.adopt(await storage.openKeys({ mayCreate }), (open) => open.close());
  await work(keys);
}

/** For commands that change keys. Every change is audited, and all changes of a command have the same time. */
async function withUseCases(
  session: Session,
  { now, mayCreate = false }: { readonly now: Date; readonly mayCreate?: boolean },
  work: (resolve: Resolve) => Promise<unknown>,
): Promise<void> {
  const audited = async (keys: ApiKeyRepository) =>
    work(compose({ keys: auditedKeys(keys, await openCommandLog(session.stderr)), now: () => now }));
  await withKeys(session, audited, { mayCreate });
}
