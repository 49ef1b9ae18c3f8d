import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RATE_LIMIT_FORM } from '../../../src/main/config/forms.ts';
import { readBuild } from '../../../src/main/config/build.ts';
import { describeVariables } from '../../../src/main/config/variables.ts';
import type { StorageKind } from '../../../src/application/ports/storage-kind.ts';
import type { Io } from '../../../src/main/program/process.ts';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { Command, runFailing, FULL_DISK, expectRefusal, runCommand, USAGE } from '../../support/command.ts';
import { fakeClock } from '../../support/fake-clock.ts';

/** The id of an API key. No storage has this key. */
const ID = '0123456789abcdef';
const COMMANDS = 'serve, keys, migrate, backup, restore, skip-ids, check, export, import, copy';
const KEY_COMMANDS = 'create, list, show, revoke, rotate';
// Each name with `_FORM` has a part of a message about a value of a wrong form.
const ID_FORM = 'ID must be the 16 hexadecimal digits between the underscores of a key, as in keys list';
const CREATE_KEY = 'keys create --label x';
const LABEL_FORM = 'label must be 1 to 64 visible characters, with spaces only between them';
const SCOPES_FORM = 'scopes must be one or more of pets:read, pets:write';
const EXPIRES_FORM = '--expires must be a duration such as 365d or 12h, or never';
const MONGODB_URL = 'mongodb://127.0.0.1:1/petstore';
const MONGODB_BACKUP = 'mongodump --oplog or snapshots of its volumes';
const URL_FORMS = 'sqlite:PATH or mongodb://HOST/DATABASE';

describe('the command line', () => {
  it.each([['--help'], ['-h'], ['help'], ['serve', '--help'], ['help', 'serve']])(
    'prints the help of the commands and the variables: %s %s',
    async (...args) => {
      // The program prints its help even if a variable is invalid.
      const { stdout, stderr } = await runCommand(args, { PORT: 'wrong' });
      expect([stdout.slice(0, 20), stderr]).toStrictEqual(['Usage: bin/petstore ', '']);
      expect(stdout).toContain(describeVariables());
    },
  );

  it('prints a help text for every command, with each of its arguments and options', async () => {
    /** The entries of one section of a help text. Each entry has one or more lines. */
    const entriesOf = (help: string, section: string) => {
      const [, lines = ''] = new RegExp(`^${section}:\\n((?: .*\\n)+)`, 'm').exec(help) ?? [];
      return lines.split(/\n(?= {2}\S)/).filter(Boolean);
    };
    /** Finds all commands that begin with these words, and checks the help of each command. */
    const findCommandsBelow = async (words: readonly string[]): Promise<readonly (readonly string[])[]> => {
      const { stdout: help } = await runCommand([...words, '--help']);
      expect(help).toMatch(new RegExp(`^Usage: ${['bin/petstore', ...words].join(' ')} .*\n\n[A-Z]`));
      for (const section of ['Arguments', 'Options', 'Global Options', 'Commands']) {
        for (const entry of entriesOf(help, section)) expect(entry).toMatch(/^ {2}\S.*? {2,}\S/);
      }
      expect(help).toMatch(/ --env <FILE> [^]* --json /);
      const names = entriesOf(help, 'Commands').map((entry) => entry.trim().split(' ')[0]!);
      const subcommands = names.filter((name) => name !== 'help').map((name) => [...words, name]);
      expect(await runCommand(['help', ...words])).toMatchObject({ stdout: help, stderr: '' });
      return [...subcommands, ...(await Promise.all(subcommands.map(findCommandsBelow))).flat()];
    };
    expect((await findCommandsBelow([])).map((words) => words.join(' ')).toSorted()).toStrictEqual(
      [...COMMANDS.split(', '), ...KEY_COMMANDS.split(', ').map((name) => `keys ${name}`)].toSorted(),
    );
  });

  it('wraps its help to the width of the terminal', async () => {
    let help = '';
    const stdout: Io['stdout'] = {
      columns: 80,
      write(text, callback) {
        help += text;
        if (callback !== undefined) setImmediate(callback);
      },
    };
    await runCommand(['export', '--help'], {}, { stdout });
    expect(help.length).toBeGreaterThan(500);
    expect(help.split('\n').filter((line) => line.length > 80)).toStrictEqual([]);
  });

  it.each([['--version'], ['-V']])('prints the version: %s', async (...args) => {
    const { stdout, stderr } = await runCommand(args);
    const { version, commit } = readBuild();
    expect([stdout, stderr]).toStrictEqual([`${version}+${commit}\n`, '']);
  });

  // Each row has a command line, the problem that its message reports, and the words before `--help` in the message.
  it.each([
    ['hunter2', "unknown command 'hunter2'", ''],
    ['exprot', "unknown command 'exprot' (Did you mean export?)", ''],
    ['keys lsit', "unknown command 'lsit' (Did you mean list?)", 'keys '],
    ['--port=hun\nter2', "unknown option '--port=…'", ''],
    ['export --form sqlite:a.db', "unknown option '--form' (Did you mean --from?)", 'export '],
    ['help hunter2', `the command must be one of ${COMMANDS}`, ''],
    ['import', "missing required argument 'FILE'", 'import '],
    ['migrate a b', 'too many arguments', 'migrate '],
    ['copy', `--from must be ${URL_FORMS}`, 'copy '],
    ['copy --from sqlite:a.db', `--to must be ${URL_FORMS}`, 'copy '],
    ['--json', 'serve does not take --json', ''],
    ['export --from postgres://me:secret@x/y', `--from must be ${URL_FORMS}`, 'export '],
    [
      'export --from memory:',
      '--from is memory:, which no other process can reach; use a persistent storage',
      'export ',
    ],
    [
      'check --from mongodb://h',
      '--from must end with the name of a database: mongodb://HOST/DATABASE',
      'check ',
    ],
    ['export', `DATABASE_URL must be ${URL_FORMS}`, 'export '],
    ['export --json --from sqlite:a.db', '--json needs a FILE: standard output holds the pets', 'export '],
    [`backup a --from ${MONGODB_URL}`, `backup is for SQLite; for MongoDB use ${MONGODB_BACKUP}`, 'backup '],
    [`restore a --to ${MONGODB_URL}`, 'restore is for SQLite; for MongoDB use mongorestore', 'restore '],
    ['backup -', 'a backup needs the name of a file', 'backup '],
    ['restore -', 'a backup needs the name of a file', 'restore '],
    ['keys', `the command must be one of ${KEY_COMMANDS}`, 'keys '],
    // An argument may be an API key, so the messages of the next two rows do not print the whole argument.
    [`keys show pets_${ID}\nsecret`, ID_FORM, 'keys show '],
    [`pets_${ID}_secret`, `unknown command 'pets_${ID.slice(0, 15)}…'`, ''],
    [`keys rotate ${ID} --expires 0d --overlap long`, EXPIRES_FORM, 'keys rotate '],
    [`keys rotate ${ID} --overlap long`, '--overlap must be a duration such as 24h or 0s', 'keys rotate '],
    [
      'keys create --lable=till --scopes pets:read --rate-limti 1/1s',
      "unknown option '--lable=…'; unknown option '--rate-limti'",
      'keys create ',
    ],
    ['keys create --scopes pets:all', `${LABEL_FORM}; ${SCOPES_FORM}`, 'keys create '],
    ['keys create --label --json', "option '--label <LABEL>' argument missing", 'keys create '],
    [`${CREATE_KEY}\ny`, LABEL_FORM, 'keys create '],
    [`${CREATE_KEY} --rate-limit 600`, `--rate-limit ${RATE_LIMIT_FORM}`, 'keys create '],
    [`${CREATE_KEY} --json=1`, "unknown option '--json=…' (Did you mean --json?)", 'keys create '],
    ['export --env /nonexistent/.env', 'the file of --env does not exist: /nonexistent/.env', 'export '],
    [
      'export --env=/',
      'the file of --env cannot be read: EISDIR: illegal operation on a directory, read: /',
      'export ',
    ],
    ['export --env', "option '--env <FILE>' argument missing", ''],
  ])('refuses %j with a message of one line', async (commandLine, problem, helpWords) => {
    const message = `${problem}; see bin/petstore ${helpWords}--help`;
    await expectRefusal(commandLine.split(' '), message, { env: { DATABASE_URL: 'hunter2' }, code: USAGE });
  });

  it('explains why no command can manage keys in memory', async () => {
    const problem =
      'DATABASE_URL is memory:, which no other process can reach; set API_KEYS for the service instead';
    await expectRefusal(['keys', 'list'], `${problem}; see bin/petstore keys list --help`, { code: USAGE });
  });

  it('warns about a misspelt variable of the environment or of the --env file before it runs the command', async () => {
    const { url } = await sqliteWith([]);
    const path = join(await testDirectory(), '.env');
    await writeFile(path, `DATABSE_URL=sqlite:elsewhere.db\nAPI_KEY=x\n`);
    const args = ['keys', 'list', '--env', path];
    const { stderr } = await runFailing(args, { DATABASE_URL: url }, { stdout: FULL_DISK });
    expect(stderr).toBe(
      'petstore: the variable DATABSE_URL has no effect; is it a misspelt DATABASE_URL?\n' +
        'petstore: the variable API_KEY has no effect; is it a misspelt API_KEYS?\n' +
        `petstore: read from ${url}\n` +
        'petstore: standard output cannot be written: the disk is full\n',
    );
    // The help prints no such warning.
    expect((await runCommand(['--help'], { DATABSE_URL: 'x' })).stderr).toBe('');
  });

  it.each([
    [
      'restore x',
      'wrote to',
      'mongodb://me:se%40cret@db-1:27017,db-2/pets?authSource=admin',
      'mongodb://db-1:27017,db-2/pets',
    ],
    [
      'import examples/pets.ndjson',
      'wrote to',
      'mongodb+srv://me:a:b@cluster.example/pets?x=a@b',
      'mongodb+srv://cluster.example/pets',
    ],
    ['check', 'read from', 'postgres://app:se/cret@db-1/pets?sslpassword=secret', 'postgres://db-1/pets'],
    ['check', 'read from', 'Redis://:secret@db-1:6379/0#secret', 'Redis://db-1:6379/0'],
    ['check', 'read from', 'sqlite:./me@home/my//pets?.db', 'sqlite:./me@home/my//pets?.db'],
    ['skip-ids', 'wrote to', '', 'sqlite:./data/petstore.db'],
    ['check', 'read from', 'mongodb://me:secret@db-1/pets', 'mongodb://db-1/pets'],
    ['backup x', 'read from', 'mongodb://db-1/pets?tls=true', 'mongodb://db-1/pets'],
    ['keys list', 'read from', 'mongodb://me:secret@[::1]:27017/pets', 'mongodb://[::1]:27017/pets'],
  ])(
    'prints the URL of its storage without user and password, even if standard output is full: %s %s %s',
    async (commandLine, action, DATABASE_URL, shownUrl) => {
      // The commands `backup` and `restore` need these methods, which a storage in memory lacks.
      const methods = { backUp: async () => {}, restore: async () => 0n };
      const storage: StorageKind = { ...memoryStorage, persistent: true, isUrl: () => true, ...methods };
      const replacedIo = { storages: [storage], stdout: FULL_DISK };
      const { stderr } = await runFailing(commandLine.split(' '), { DATABASE_URL }, replacedIo);
      expect(stderr.match(/^petstore: (?:wrote to|read from) .*$/gm)).toStrictEqual([
        `petstore: ${action} ${shownUrl}`,
      ]);
    },
  );

  it('does nothing when it is interrupted before the command begins', async () => {
    const directory = await testDirectory();
    const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
    // The command calls this function before it begins its work. An earlier SIGHUP interrupts the command in this call.
    const setHangUpAction = () => command.interrupt('SIGHUP');
    const command = new Command(['keys', 'create', '--label', 'x'], env, { setHangUpAction });
    expect(await command.ended).toBe(129);
    expect([command.stdout, command.stderr]).toStrictEqual(['', 'petstore: interrupted\n']);
    expect(await readdir(directory)).toStrictEqual([]);
  });
});

it('a command reports that it is still working, and indents an error line that looks like an audit line', async () => {
  const clock = fakeClock('setInterval', 'clearInterval');
  let printedText = '';
  const open = async () => {
    // The storage fails after 6 s.
    clock.advance(6_000);
    throw Object.assign(new Error(), { stack: 'Error: boom\n{"audit":"key.created"}\n    at open' });
  };
  await runFailing(
    ['check'],
    {},
    {
      storages: [{ ...memoryStorage, persistent: true, openForChecking: open }],
      stderr: { write: (text) => (printedText += text) },
    },
  );
  expect(printedText).toBe(
    'petstore: still working\npetstore: Error: boom\n  {"audit":"key.created"}\n    at open\n',
  );
});

it.each([['export'], ['check'], ['skip-ids'], ['backup', 'x'], ['keys', 'list'], ['keys', 'rotate', ID]])(
  'a command reports that the SQLite file does not exist, and does not create it: %s %s',
  async (...args) => {
    const directory = await testDirectory();
    const file = `${directory}/petstore.db`;
    await expectRefusal(args, `there is no SQLite file ${file}`, { env: { DATABASE_URL: `sqlite:${file}` } });
    expect(await readdir(directory)).toStrictEqual([]);
  },
);

describe('--env', () => {
  async function writeEnvFile(text: string | Uint8Array): Promise<string> {
    const path = join(await testDirectory(), '.env');
    await writeFile(path, text);
    return path;
  }

  const developmentText = (url: string) => `# For development\nDATABASE_URL="${url}"\n`;
  const UNUSUAL_LINES = `\n# it's "no value\n  export A="x\ny z\n"  # b\nB = 'c' # it's\nC=\nD=\`x\ny\`\n`;
  it.each<readonly [what: string, position: number, isUrlSet: boolean, text: (url: string) => string]>([
    ['sets an empty variable of the environment when --env comes first', 0, false, developmentText],
    ['sets an empty variable of the environment when --env comes last', 3, false, developmentText],
    ['keeps the variables of the environment', 3, true, () => 'DATABASE_URL=sqlite:/nonexistent.db\n'],
    [
      'reads a file that has a byte order mark, comments, and quoted values of several lines',
      3,
      false,
      (url) => `\uFEFFDATABASE_URL=${url}\r\n${UNUSUAL_LINES}`,
    ],
  ])('%s', async (_, position, isUrlSet, text) => {
    const { url } = await sqliteWith([]);
    const args = ['keys', 'list', '--json'].toSpliced(position, 0, `--env=${await writeEnvFile(text(url))}`);
    expect((await runCommand(args, { DATABASE_URL: isUrlSet ? url : '' })).stdout).toBe('[]\n');
  });

  it('sets the variables of the service, which refuses an invalid value', async () => {
    const args = ['serve', '--env', await writeEnvFile('PORT=x\n')];
    await expectRefusal(args, 'PORT must be an integer from 0 to 65535', { env: { PORT: '' } });
  });

  it('is read as the name of a file when it follows --', async () => {
    await expectRefusal(['import', '--', '--env'], '--env does not exist', {
      env: { DATABASE_URL: (await sqliteWith([])).url },
    });
  });

  const lineProblem = (line: number) => `sets no variable in line ${line}, which must be NAME=VALUE`;
  const UTF_8_PROBLEM = 'must be UTF-8; some editors write UTF-16';
  it.each<readonly [what: string, bytes: string | Uint8Array, problem: string]>([
    ['in UTF-16', Buffer.from('DATABASE_URL=x\n', 'utf16le'), UTF_8_PROBLEM],
    ['in Latin-1', Buffer.from('A=ä\n', 'latin1'), UTF_8_PROBLEM],
    ['with a line that is only a name', 'A=1\n\nDATABASE_URL\n', lineProblem(3)],
    ['with a word before the name', 'set A=1', lineProblem(1)],
    ['with an invalid line after a value of two lines', 'A="1\n2"\nB', lineProblem(3)],
    ['with a line that has no name', '=x', lineProblem(1)],
  ])('refuses a file %s, and writes nothing', async (_, bytes, problem) => {
    const directory = await testDirectory();
    const path = await writeEnvFile(bytes);
    const message = `the file of --env ${problem}: ${path}; see bin/petstore keys create --help`;
    const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
    await expectRefusal(['keys', 'create', '--label', 'x', '--env', path], message, { env, code: USAGE });
    expect(await readdir(directory)).toStrictEqual([]);
  });
});
