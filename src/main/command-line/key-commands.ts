import { keyMint } from '../../adapters/tokens/token.ts';
import { ApiKeyNotFound } from '../../application/api-key-errors.ts';
import { type CreatedKey, CreateKey } from '../../application/create-key.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { RevokeKey } from '../../application/revoke-key.ts';
import { RotateKey } from '../../application/rotate-key.ts';
import { InvalidApiKey } from '../../domain/api-key.ts';
import { openKeys } from './archives.ts';
import { auditKey } from './audit.ts';
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
      --expires DURATION   as above (default: as long as the old one was made for)

ID is the first part of a key, between its underscores. The keys are where the pets are, in DATABASE_URL; services may
be using it. Nothing but the key goes to standard output when one is made: KEY=$(npm run -s petstore -- keys create …).

  --json   write JSON to standard output instead; a key that is made is its "key"
`;

type Result = { readonly json: unknown; readonly text: string };

type KeyCommand = {
  readonly options: readonly (keyof KeyOptions)[];
  readonly takesId: boolean;
  /** What is wrong with the command line is said before the storage is opened. All of a command is at one instant. */
  prepare(options: KeyOptions, id: string, now: Date): (keys: ApiKeyRepository) => Promise<Result>;
};

const COMMANDS: Readonly<Record<string, KeyCommand>> = {
  create: {
    options: ['label', 'scopes', 'expires', 'rate-limit'],
    takesId: false,
    prepare(options, _, now) {
      const draft = {
        label: labelOf(options),
        scopes: scopesOf(options),
        expiresAt: expiryOf(options, now) ?? undefined,
        rateLimit: rateLimitOf(options),
      };
      return async (keys) => shown(await new CreateKey(keys, keyMint, () => now).execute(draft), now);
    },
  },
  list: {
    options: [],
    takesId: false,
    prepare: (_options, _id, now) => async (keys) => {
      const all = await keys.list();
      return { json: all.map((key) => keyJson(key, now)), text: keyTable(all, now) };
    },
  },
  show: {
    options: [],
    takesId: true,
    prepare: (_, id, now) => async (keys) => {
      const key = await keys.findById(id);
      if (key === undefined) throw new ApiKeyNotFound(id);
      return { json: keyJson(key, now), text: keyLines(key, now) };
    },
  },
  revoke: {
    options: [],
    takesId: true,
    prepare: (_, id, now) => async (keys) => {
      const key = await new RevokeKey(keys, () => now).execute(id);
      await auditKey('key.revoked', key);
      return {
        json: keyJson(key, now),
        text: `the key ${id} is revoked; every service refuses it within 10 seconds\n`,
      };
    },
  },
  rotate: {
    options: ['overlap', 'expires'],
    takesId: true,
    prepare(options, id, now) {
      const rotation = {
        overlapMs: overlapOf(options),
        expiresAt: options.expires === undefined ? undefined : expiryOf(options, now),
      };
      return async (keys) => {
        const rotateKey = new RotateKey(keys, new CreateKey(keys, keyMint, () => now), () => now);
        const rotated = await rotateKey.execute(id, rotation);
        await auditKey('key.replaced', rotated.old);
        return shown(rotated, now, { replaces: keyJson(rotated.old, now) });
      };
    },
  },
};

/** The one time that the key itself is written. */
async function shown(
  { key, token }: CreatedKey,
  now: Date,
  more: Record<string, unknown> = {},
): Promise<Result> {
  await auditKey('key.created', key);
  return { json: { ...keyJson(key, now), key: token, ...more }, text: `${token}\n` };
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
  const work = command.prepare(texts, command.takesId ? idOf(positionals[0]) : '', new Date());
  const storage = await openKeys();
  try {
    const result = await work(storage.keys);
    print(json ? `${JSON.stringify(result.json)}\n` : result.text);
  } catch (error) {
    throw error instanceof InvalidApiKey ? wrong(error.message) : error;
  } finally {
    await storage.close();
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
