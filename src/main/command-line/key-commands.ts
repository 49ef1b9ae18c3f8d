import { mintKey } from '../../adapters/tokens/token.ts';
import { ApiKeyNotFound } from '../../application/keys/errors.ts';
import { throwIfDamaged } from '../../application/keys/parse-stored-api-key.ts';
import { CreateKey, type HandOver } from '../../application/keys/create-key.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { RevokeKey } from '../../application/keys/revoke-key.ts';
import { RotateKey } from '../../application/keys/rotate-key.ts';
import { InvalidApiKey, newApiKey } from '../../domain/api-key.ts';
import { openCommandLog } from '../log/command-log.ts';
import { openKeys } from './archives.ts';
import { AuditedApiKeys } from './audited-keys.ts';
import {
  DEFAULT_EXPIRES,
  DEFAULT_OVERLAP,
  expiryOf,
  idOf,
  type KeyOptions,
  labelOf,
  overlapOf,
  rateLimitOf,
  scopesOf,
  wrong,
} from './key-options.ts';
import { keyJson, keyLines, keyTable } from './key-report.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { print } from './print.ts';

const HELP = `Usage: npm run petstore -- keys COMMAND [--json]

  create --label LABEL     make a key and write it to standard output, this once: nothing keeps it but its SHA-256
      --scopes SCOPES      what it is good for: pets:read, pets:write or both, separated by a comma (default: both)
      --expires DURATION   how long it is valid: 365d, 12h or never (default: ${DEFAULT_EXPIRES})
      --rate-limit LIMIT   its own limit in place of RATE_LIMIT, such as 600/60s
  list                     every key, whatever its state
  show ID                  one key
  revoke ID                end a key for good: every service refuses it within 10 seconds
  rotate ID                make a key like it, and let the old one expire
      --overlap DURATION   how long the old one stays valid: 24h, 0s (default: ${DEFAULT_OVERLAP})
      --expires DURATION   how long the new one is valid, as above

ID is the part of a key between its underscores. The keys are where the pets are, in DATABASE_URL; services may
be using it. Nothing but the key goes to standard output when one is made: KEY=$(npm run -s petstore -- keys create …).

  --json   write JSON to standard output instead; a key that is made is its "key"
`;

/** A command line, and how to answer it. */
type Given = {
  readonly options: KeyOptions;
  readonly id: string;
  readonly now: Date;
  /** Writes the answer for people, or its JSON if that was asked for. */
  readonly answer: (text: string, json: unknown) => Promise<void>;
};

type KeyCommand = {
  readonly options: readonly (keyof KeyOptions)[];
  readonly takesId: boolean;
  /** What is wrong with the command line is said before the storage is opened. All of a command is at one instant. */
  prepare(given: Given): (keys: ApiKeyRepository) => Promise<void>;
};

const COMMANDS: Readonly<Record<string, KeyCommand>> = {
  create: {
    options: ['label', 'scopes', 'expires', 'rate-limit'],
    takesId: false,
    prepare(given) {
      const { options, now } = given;
      const draft = {
        label: labelOf(options),
        scopes: scopesOf(options),
        expiresAt: expiryOf(options, now),
        rateLimit: rateLimitOf(options),
      };
      check(() => newApiKey(draft, now));
      return async (keys) => {
        await new CreateKey(keys, mintKey, () => now).execute(draft, handOver(given));
      };
    },
  },
  list: {
    options: [],
    takesId: false,
    prepare:
      ({ now, answer }) =>
      async (keys) => {
        const all = await keys.list();
        await answer(
          keyTable(all, now),
          all.map((key) => keyJson(key, now)),
        );
        all.forEach(throwIfDamaged);
      },
  },
  show: {
    options: [],
    takesId: true,
    prepare:
      ({ id, now, answer }) =>
      async (keys) => {
        const key = await keys.findById(id);
        if (key === undefined) throw new ApiKeyNotFound(id);
        await answer(keyLines(key, now), keyJson(key, now));
      },
  },
  revoke: {
    options: [],
    takesId: true,
    prepare:
      ({ id, now, answer }) =>
      async (keys) => {
        const key = await new RevokeKey(keys, () => now).execute(id);
        await answer(
          `the key ${id} is revoked; every service refuses it within 10 seconds\n`,
          keyJson(key, now),
        );
      },
  },
  rotate: {
    options: ['overlap', 'expires'],
    takesId: true,
    prepare(given) {
      const { options, id, now } = given;
      const rotation = { overlapMs: overlapOf(options), expiresAt: expiryOf(options, now) };
      return async (keys) => {
        const createKey = new CreateKey(keys, mintKey, () => now);
        await new RotateKey(keys, createKey, () => now).execute(id, rotation, handOver(given));
      };
    },
  },
};

/** The one time that the key itself is written. */
function handOver({ id, now, answer }: Given): HandOver {
  const replaces = id === '' ? {} : { replaces: id };
  return ({ key, token }) => answer(`${token}\n`, { ...keyJson(key, now), key: token, ...replaces });
}

function check(draft: () => unknown): void {
  try {
    draft();
  } catch (error) {
    throw error instanceof InvalidApiKey ? wrong(error.message) : error;
  }
}

/**
 * `petstore keys …`
 *
 * @throws {UsageError}
 */
export async function runKeys([name = '', ...argv]: readonly string[]): Promise<void> {
  if (name === '--help' || name === '-h') return print(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) throw wrong('the command must be create, list, show, revoke or rotate');
  const { help, json, texts, positionals } = parseCommandLine(argv, 'keys', {
    texts: command.options,
    json: true,
    positionals: command.takesId ? 1 : 0,
  });
  if (help) return print(HELP);
  const work = command.prepare({
    options: texts,
    id: command.takesId ? idOf(positionals[0]) : '',
    now: new Date(),
    answer: (text, value) => print(json ? `${JSON.stringify(value)}\n` : text),
  });
  const storage = await openKeys({ mayMake: name === 'create' });
  try {
    await work(new AuditedApiKeys(storage.keys, await openCommandLog()));
  } finally {
    await storage.close();
  }
}
