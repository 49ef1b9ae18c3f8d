import type { HandOver } from '../../application/keys/create-key.ts';
import { ApiKeyNotFound } from '../../application/keys/errors.ts';
import { throwIfDamaged } from '../../application/keys/parse-stored-api-key.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { newApiKey } from '../../domain/api-key.ts';
import { compose, type Resolve } from '../compose.ts';
import { openCommandLog } from '../log/command-log.ts';
import { AuditedApiKeys } from './audited-keys.ts';
import type { Command, Given } from './command.ts';
import { configuredStorage } from './command-storage.ts';
import {
  DEFAULT_EXPIRES,
  DEFAULT_OVERLAP,
  expiryOf,
  idOf,
  labelOf,
  overlapMsOf,
  rateLimitOf,
  scopesOf,
} from './key-options.ts';
import { keyJson, keyLines, keyTable } from './key-report.ts';
import type { Session } from './session.ts';
import { UsageError } from './usage-error.ts';

const USAGE = `Usage: npm run petstore -- keys COMMAND [--json]

  create --label LABEL     create a key and write it to standard output, once: only its SHA-256 is stored
      --scopes SCOPES      pets:read, pets:write or both, separated by a comma (default: both)
      --expires DURATION   how long the key is valid: 365d, 12h or never (default: ${DEFAULT_EXPIRES})
      --rate-limit LIMIT   a limit for this key in place of RATE_LIMIT, such as 600/60s
  list                     list all keys, the revoked and expired ones included
  show ID                  show one key
  revoke ID                revoke a key for good: every service refuses it within 10 seconds
  rotate ID                replace a key: create one with the same rights and let the old one expire
      --overlap DURATION   how long the old key stays valid: 24h, 0s (default: ${DEFAULT_OVERLAP})
      --expires DURATION   how long the new key is valid, as above

ID is the part of a key between its underscores. The keys are stored beside the pets, in DATABASE_URL. Services may use
that storage. create and rotate write nothing but the key to standard output:
KEY=$(npm run -s petstore -- keys create …)

  --json   write JSON; a new key itself is the property "key"
`;

/** `keys` without one of the commands below. */
export const keysCommand: Command = {
  name: 'keys',
  usage: USAGE,
  options: [],
  json: true,
  maxPositionals: Infinity,
  async run() {
    throw new UsageError('the command must be create, list, show, revoke or rotate');
  },
};

export const createCommand: Command = {
  ...keysCommand,
  options: ['label', 'scopes', 'expires', 'rate-limit'],
  maxPositionals: 0,
  async run(given, session) {
    const now = new Date();
    const draft = {
      label: labelOf(given),
      scopes: scopesOf(given),
      expiresAt: expiryOf(given, now),
      rateLimit: rateLimitOf(given),
    };
    // Refuses a wrong draft before a SQLite file is created.
    newApiKey(draft, now);
    await withUseCases(session, { now, mayCreate: true }, (resolve) =>
      resolve('createKey').execute(draft, handOver(given, session, now)),
    );
  },
};

export const listCommand: Command = {
  ...keysCommand,
  maxPositionals: 0,
  async run(given, session) {
    const now = new Date();
    await withKeys(session, async (keys) => {
      const all = await keys.list();
      const json = all.map((key) => keyJson(key, now));
      await answer(given, session, keyTable(all, now), json);
      // After the list, which shows the others.
      all.forEach(throwIfDamaged);
    });
  },
};

export const showCommand: Command = {
  ...keysCommand,
  maxPositionals: 1,
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    await withKeys(session, async (keys) => {
      const key = await keys.findById(id);
      if (key === undefined) throw new ApiKeyNotFound(id);
      await answer(given, session, keyLines(key, now), keyJson(key, now));
    });
  },
};

export const revokeCommand: Command = {
  ...keysCommand,
  maxPositionals: 1,
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    await withUseCases(session, { now }, async (resolve) => {
      const key = await resolve('revokeKey').execute(id);
      const text = `the key ${id} is revoked; every service refuses it within 10 seconds\n`;
      await answer(given, session, text, keyJson(key, now));
    });
  },
};

export const rotateCommand: Command = {
  ...keysCommand,
  options: ['overlap', 'expires'],
  maxPositionals: 1,
  async run(given, session) {
    const id = idOf(given);
    const now = new Date();
    const rotation = { overlapMs: overlapMsOf(given), expiresAt: expiryOf(given, now) };
    await withUseCases(session, { now }, (resolve) =>
      resolve('rotateKey').execute(id, rotation, handOver(given, session, now)),
    );
  },
};

/** Prints the text for people, or the JSON where `--json` asks for it. */
async function answer({ json }: Given, session: Session, text: string, value: unknown): Promise<void> {
  await session.print(json ? `${JSON.stringify(value)}\n` : text);
}

/** Prints the token of a new key, which is stored nowhere. An ID on the command line is the key that it replaces. */
function handOver(given: Given, session: Session, now: Date): HandOver {
  const [id] = given.positionals;
  const replaces = id === undefined ? {} : { replaces: id };
  return ({ key, token }) =>
    answer(given, session, `${token}\n`, { ...keyJson(key, now), key: token, ...replaces });
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

/** For commands that change keys: every change is audited, and a command happens at one instant. */
async function withUseCases(
  session: Session,
  { now, mayCreate = false }: { readonly now: Date; readonly mayCreate?: boolean },
  work: (resolve: Resolve) => Promise<unknown>,
): Promise<void> {
  const audited = async (keys: ApiKeyRepository) =>
    work(compose({ keys: new AuditedApiKeys(keys, await openCommandLog(session.stderr)), now: () => now }));
  await withKeys(session, audited, { mayCreate });
}
