import { kindsWith, namesOf, STORAGES, urlForms } from '../config/storages.ts';
import { DEFAULT_EXPIRES, DEFAULT_OVERLAP } from './key-options.ts';
import type { Command } from './session.ts';

/** A command as users see it. */
export type Definition = {
  /** Its line in the list of commands. */
  readonly summary: string;
  /** The start of its help. Default: the summary. */
  readonly description?: string;
  /** What each argument means: `<REQUIRED>` or `[OPTIONAL]`. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** What each option means, besides `--env` and `--help`, which all have. `--name <VALUE>` takes a value. */
  readonly options?: Readonly<Record<string, string>>;
  /** Loads the command. Absent from a group of commands, and from the service. */
  readonly load?: () => Promise<Command>;
};

const JSON_OPTION = { '--json': 'write the answer as JSON' } as const;
const PERSISTENT = STORAGES.filter(({ persistent }) => persistent);
const URLS = urlForms(PERSISTENT);
const FROM = `${URLS} (default: DATABASE_URL)`;
const TO = urlForms(
  PERSISTENT.map(({ urlForm, shared }) =>
    shared ? { urlForm } : { urlForm: `${urlForm}, which no service may use at the same time,` },
  ),
);
const MIGRATED = kindsWith('migrate');
const BACKED_UP = kindsWith('backUp');
const BACKED_UP_NAME = namesOf(BACKED_UP);
const BACKUP_URL = `${urlForms(BACKED_UP)} (default: DATABASE_URL)`;
const OTHER_BACKUPS = STORAGES.map(({ name, tools }) =>
  tools ? ` For ${name} use ${tools.backUp}.` : '',
).join('');
const NEW_KEY_OPTIONS = {
  '--expires <DURATION>': `how long the new key is valid: 365d, 12h or never (default: ${DEFAULT_EXPIRES})`,
  '--output <FILE>': 'write the new key to this new file, which only its owner can read, and do not print it',
  '--json': 'write JSON; the new key itself is the property "key"',
} as const;
const KEY_ID = 'the part of a key between its underscores';

/** By name. The name of a command in a group begins with the name of the group, which comes before it here. */
export const COMMANDS: Readonly<Record<string, Definition>> = {
  serve: { summary: 'run the service (the default command)' },
  keys: {
    summary: 'create, list, rotate and revoke API keys',
    description:
      'Manages API keys. The keys are stored beside the pets, in DATABASE_URL. Services may use that storage.',
  },
  'keys create': {
    summary: 'create a key',
    description:
      'Creates a key and writes it to standard output or a file, once: only its SHA-256 is stored. ' +
      'Nothing else goes to standard output: KEY=$(petstore keys create --label NAME)',
    options: {
      '--label <LABEL>': 'what the key is for; required',
      '--scopes <SCOPES>': 'pets:read, pets:write or both, separated by a comma (default: both)',
      '--rate-limit <LIMIT>': 'a limit for this key in place of RATE_LIMIT, such as 600/60s',
      ...NEW_KEY_OPTIONS,
    },
    load: async () => (await import('./key-commands.ts')).createCommand,
  },
  'keys list': {
    summary: 'list all keys, the revoked and expired ones included',
    options: JSON_OPTION,
    load: async () => (await import('./key-commands.ts')).listCommand,
  },
  'keys show': {
    summary: 'show one key',
    arguments: { '<ID>': KEY_ID },
    options: JSON_OPTION,
    load: async () => (await import('./key-commands.ts')).showCommand,
  },
  'keys revoke': {
    summary: 'revoke a key for good: every service refuses it within 10 seconds',
    arguments: { '<ID>': KEY_ID },
    options: JSON_OPTION,
    load: async () => (await import('./key-commands.ts')).revokeCommand,
  },
  'keys rotate': {
    summary: 'replace a key: create one with the same rights and let the old one expire',
    arguments: { '<ID>': KEY_ID },
    options: {
      '--overlap <DURATION>': `how long the old key stays valid: 24h, 0s (default: ${DEFAULT_OVERLAP})`,
      ...NEW_KEY_OPTIONS,
    },
    load: async () => (await import('./key-commands.ts')).rotateCommand,
  },
  migrate: {
    summary: `create or update the schema of a ${namesOf(MIGRATED)} database`,
    arguments: { '[URL]': `${urlForms(MIGRATED)} (default: DATABASE_URL)` },
    options: JSON_OPTION,
    load: async () => (await import('./storage-commands.ts')).migrateCommand,
  },
  backup: {
    summary: `copy a ${BACKED_UP_NAME} database to a file, even while a service uses it`,
    description:
      `Copies a ${BACKED_UP_NAME} database to FILE: pets, API keys and idempotency keys. A service may use the database at the ` +
      `same time. FILE contains every pet acknowledged before the start.${OTHER_BACKUPS}`,
    arguments: {
      '<FILE>':
        'must not exist. It is written as FILE.partial and renamed when it is complete and checked. ' +
        'Only its owner can read it. After an interruption there is no FILE',
    },
    options: { '--from <URL>': BACKUP_URL, ...JSON_OPTION },
    load: async () => (await import('./storage-commands.ts')).backupCommand,
  },
  restore: {
    summary: `make a ${BACKED_UP_NAME} database of a backup`,
    description:
      `Checks FILE and makes a ${BACKED_UP_NAME} database of a copy of it, where there is none. If there is one, it prints the ` +
      'command that moves it away. After an interruption, run the same command again.',
    arguments: { '<FILE>': 'as backup has written it' },
    options: { '--to <URL>': BACKUP_URL, ...JSON_OPTION },
    load: async () => (await import('./storage-commands.ts')).restoreCommand,
  },
  'skip-ids': {
    summary: 'keep new pets from getting the ids of lost ones',
    description:
      'Skips 10^12 ids: new pets get greater ones. For a MongoDB that was restored from a backup or has lost members, ' +
      'whose lost pets may have these ids. Run it before the services start. A file that backup has written needs ' +
      'no skip-ids. Every repetition skips further ids.',
    arguments: { '[URL]': FROM },
    options: JSON_OPTION,
    load: async () => (await import('./storage-commands.ts')).skipIdsCommand,
  },
  check: {
    summary: 'examine a storage and say what is wrong with it, even while services use it',
    description:
      'Reads the whole storage and changes nothing. Examines the schema, the indexes, the counter of ids (SQLite), every pet, ' +
      'every idempotency key and every API key. Writes a line for each finding. Exit codes: 0 sound, 1 findings.',
    options: { '--from <URL>': FROM, ...JSON_OPTION },
    load: async () => (await import('./storage-commands.ts')).checkCommand,
  },
  export: {
    summary: 'write all pets to a file or to standard output',
    description:
      'Writes every pet as a line of JSON (NDJSON), in ascending order of id. Services may use the storage: every pet ' +
      'acknowledged before the start is written. Later ones may be missing. API keys are not exported.',
    arguments: {
      '[FILE]':
        'absent or -: standard output. A name that ends in .gz or .zst is compressed. FILE is written as FILE.partial ' +
        'and gets its name when it is complete. It replaces an older FILE and takes over its permissions; a new FILE ' +
        'is readable by its owner only. No file of a database is replaced. After an interruption, run the command again',
    },
    options: { '--from <URL>': FROM, '--json': 'write the number of pets as JSON; only with a FILE' },
    load: async () => (await import('./moving-commands.ts')).exportCommand,
  },
  import: {
    summary: 'read pets from a file or from standard input',
    description:
      'Copies the pets of FILE, as export has written it, into a storage. Pets keep their ids, and the storage never ' +
      'gives these ids to new pets. FILE and the pets in the storage are checked first: on any error, nothing is ' +
      'written. After an interruption, run the same command again to continue.',
    arguments: {
      '<FILE>':
        'one JSON object per line, in ascending order of id: ' +
        '{"id":1,"name":"Rex","categoryId":7,"status":"available"}. ' +
        'A name that ends in .gz or .zst is decompressed. -: standard input, which is kept in a temporary file',
    },
    options: { '--to <URL>': `${TO} (default: DATABASE_URL)`, ...JSON_OPTION },
    load: async () => (await import('./moving-commands.ts')).importCommand,
  },
  copy: {
    summary: 'copy all pets and API keys to another storage',
    description:
      'Copies all pets and API keys from one storage to another. Pets keep their ids, and the target never gives ' +
      'these ids to new pets. API keys stay valid: clients need no new ones. To copy pets without keys, use export ' +
      'and import. The target may already contain pets and keys. If one of them conflicts with the source, nothing ' +
      'is written. After an interruption, run the same command again to continue.',
    options: {
      '--from <URL>':
        `required: ${URLS}. Services may use it: every pet acknowledged before the ` +
        'start is copied. Later ones may be missing, so stop the services before the last copy',
      '--to <URL>': `required: ${TO}`,
      ...JSON_OPTION,
    },
    load: async () => (await import('./moving-commands.ts')).copyCommand,
  },
};

/** The name of the command at the start of a command line; `undefined` when there is none. */
export function commandNameOf(argv: readonly string[]): string | undefined {
  const [first = '', second = ''] = withoutEnv(argv);
  return [`${first} ${second}`, first].find((name) => Object.hasOwn(COMMANDS, name));
}

/** The command line without `--env FILE`. Not `--env-file`: Node reads that itself, wherever it is. */
export function withoutEnv(argv: readonly string[]): readonly string[] {
  return argv.filter((word, at) => !word.startsWith('--env') && argv[at - 1] !== '--env');
}
