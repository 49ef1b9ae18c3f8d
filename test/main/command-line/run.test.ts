import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readBuild } from '../../../src/main/config/build.ts';
import { describeVariables } from '../../../src/main/config/variables.ts';
import type { Io } from '../../../src/main/program/process.ts';
import { memoryStorage } from '../../../src/adapters/memory/storage.ts';
import { sqliteWith } from '../../support/archives.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { Command, FAILED, refused, succeeds, USAGE } from '../../support/command.ts';
import { fakeClock } from '../../support/fake-clock.ts';

const ID = '0123456789abcdef';

const COMMANDS = 'serve, keys, migrate, backup, restore, skip-ids, check, export, import, copy'.split(', ');

describe('the general command line', () => {
  it.each([['--help'], ['-h'], ['help']])('explains itself: %s', async (...args) => {
    const help = await succeeds(args, { PORT: 'wrong' });
    expect(help.stderr).toBe('');
    expect(help.stdout).toMatch(/^Usage: bin\/petstore /);
    for (const command of [...COMMANDS, 'help']) {
      expect(help.stdout).toMatch(new RegExp(`^ {2}${command}\\b.* {2,}\\S`, 'm'));
    }
  });

  it.each([['--help'], ['serve', '--help'], ['help', 'serve']])(
    'lists the variables: %s',
    async (...args) => {
      const { stdout } = await succeeds(args);
      expect(stdout).toContain(describeVariables());
    },
  );

  it('wraps its help to the width of the terminal', async () => {
    let help = '';
    const stdout: Io['stdout'] = {
      columns: 80,
      write(text, callback) {
        help += text;
        if (callback !== undefined) setImmediate(callback);
      },
    };
    await succeeds(['export', '--help'], {}, { stdout });
    expect(help.length).toBeGreaterThan(500);
    expect(help.split('\n').filter((line) => line.length > 80)).toStrictEqual([]);
  });

  it.each([['--version'], ['-V']])('tells its version: %s', async (...args) => {
    const { stdout, stderr } = await succeeds(args);
    const { version, commit } = readBuild();
    expect([stdout, stderr]).toStrictEqual([`${version}+${commit}\n`, '']);
  });

  it.each([
    ['an unknown command', ['hunter2'], "unknown command 'hunter2'; see bin/petstore --help"],
    [
      'a misspelt command',
      ['exprot'],
      "unknown command 'exprot' (Did you mean export?); see bin/petstore --help",
    ],
    [
      'a misspelt command of a group',
      ['keys', 'lsit'],
      "unknown command 'lsit' (Did you mean list?); see bin/petstore keys --help",
    ],
    ['the name of an object property', ['toString'], "unknown command 'toString'; see bin/petstore --help"],
    ['an unknown option', ['--port=hunter2'], "unknown option '--port=…'; see bin/petstore --help"],
    [
      'a misspelt option',
      ['export', '--form', 'sqlite:a.db'],
      "unknown option '--form' (Did you mean --from?); see bin/petstore export --help",
    ],
    [
      'a value for an option that takes none',
      ['--help=hunter2'],
      "unknown option '--help=…'; see bin/petstore --help",
    ],
    [
      'help for an unknown command',
      ['help', 'hunter2'],
      `the command must be one of ${COMMANDS.join(', ')}; see bin/petstore --help`,
    ],
  ])('refuses %s in one line', async (_what, args, message) => {
    await refused(args, message, { code: USAGE });
  });

  it.each([
    ['to', 'npm_config_token_description'],
    ['rate-limit', 'npm_config_rate_limit'],
  ])('does nothing when npm has taken --%s from it', async (option, variable) => {
    // What the program gets from: npm start import FILE --to URL
    const directory = await testDirectory();
    const env = { DATABASE_URL: `sqlite:${directory}/petstore.db`, [variable]: 'x' };
    await refused(
      ['import', 'examples/pets.ndjson'],
      `npm took --${option} for an option of its own; run bin/petstore instead; see bin/petstore import --help`,
      { env, code: USAGE },
    );
    expect(await readdir(directory)).toStrictEqual([]);
  });

  it('works when npm has left it its options', async () => {
    const { url } = await sqliteWith([]);
    const { stderr } = await succeeds(['export', `--from=${url}`], { npm_config_from: 'x' });
    expect(stderr).toBe('petstore: exported 0 pets\n');
  });

  it('does nothing when it is interrupted before it begins', async () => {
    const directory = await testDirectory();
    const command = new Command(['keys', 'create', '--label', 'x'], {
      DATABASE_URL: `sqlite:${directory}/petstore.db`,
    });
    command.interrupt('SIGHUP');
    expect(await command.ended).toBe(129);
    expect([command.stdout, command.stderr]).toStrictEqual(['', 'petstore: interrupted\n']);
    expect(await readdir(directory)).toStrictEqual([]);
  });
});

describe('the command line of a command', () => {
  it.each([
    [['import'], "missing required argument 'FILE'; see bin/petstore import --help"],
    [['migrate', 'a', 'b'], 'too many arguments; see bin/petstore migrate --help'],
    [
      ['migrate', 'sqlite:a.db'],
      'URL must be mongodb://HOST/DATABASE to migrate; see bin/petstore migrate --help',
    ],
    [['copy', '--from', 'sqlite:a.db'], '--from and --to are both required; see bin/petstore copy --help'],
    [['export', '--to', 'sqlite:a.db'], "unknown option '--to'; see bin/petstore export --help"],
    [['export', '--from'], "option '--from <URL>' argument missing; see bin/petstore export --help"],
    [
      ['export', '--from', 'postgres://me:secret@x/y'],
      '--from must be sqlite:PATH or mongodb://HOST/DATABASE; see bin/petstore export --help',
    ],
    [
      ['export', '--from', 'memory:'],
      '--from is memory:, which no other process can reach; use a persistent storage; ' +
        'see bin/petstore export --help',
    ],
  ])('refuses %s', async (args, message) => {
    await refused(args, message, { code: USAGE });
  });

  it('names DATABASE_URL when it refuses its value', async () => {
    await refused(
      ['export'],
      'DATABASE_URL must be sqlite:PATH or mongodb://HOST/DATABASE; see bin/petstore export --help',
      {
        env: { DATABASE_URL: 'hunter2' },
        code: USAGE,
      },
    );
  });

  it('says that a silent storage is still at work, and writes no prose that looks like an audit line', async () => {
    const clock = fakeClock('setInterval', 'clearInterval');
    let printed = '';
    const open = async () => {
      clock.advance(6_000);
      throw Object.assign(new Error(), { stack: 'Error: boom\n{"audit":"key.created"}\n    at open' });
    };
    const command = new Command(
      ['check'],
      {},
      {
        storages: [{ ...memoryStorage, persistent: true, open }],
        stderr: { write: (text) => (printed += text) },
      },
    );
    expect(await command.ended).toBe(FAILED);
    expect(printed).toBe(
      'petstore: still working\npetstore: Error: boom\n  {"audit":"key.created"}\n    at open\n',
    );
  });

  it.each([['export'], ['check'], ['skip-ids'], ['backup', 'x'], ['keys', 'list'], ['keys', 'rotate', ID]])(
    'creates no database where there is none: %s %s',
    async (...args) => {
      const directory = await testDirectory();
      const file = `${directory}/petstore.db`;
      await refused(args, `there is no SQLite file ${file}`, { env: { DATABASE_URL: `sqlite:${file}` } });
      expect(await readdir(directory)).toStrictEqual([]);
    },
  );
});

describe('--env', () => {
  async function envFile(text: string): Promise<string> {
    const path = join(await testDirectory(), '.env');
    await writeFile(path, text);
    return path;
  }

  it.each([0, 1, 2, 3])(
    'sets variables that the environment lacks or leaves empty: before word %i',
    async (at) => {
      const { url } = await sqliteWith([]);
      const path = await envFile(`# For development\nDATABASE_URL="${url}"\n`);
      const args = ['keys', 'list', '--json'].toSpliced(at, 0, '--env', path);
      expect((await succeeds(args, { DATABASE_URL: '' })).stdout).toBe('[]\n');
    },
  );

  it('changes no variable of the environment', async () => {
    const { url: DATABASE_URL } = await sqliteWith([]);
    const path = await envFile('DATABASE_URL=sqlite:/nonexistent/petstore.db\n');
    expect((await succeeds(['keys', 'list', '--json', `--env=${path}`], { DATABASE_URL })).stdout).toBe(
      '[]\n',
    );
  });

  it('leaves what follows -- alone', async () => {
    await refused(['import', '--', '--env'], '--env does not exist', {
      env: { DATABASE_URL: (await sqliteWith([])).url },
    });
  });

  it.each([
    [['export', '--env', '/nonexistent/.env'], 'the file of --env does not exist: /nonexistent/.env'],
    [
      ['export', '--env=/'],
      'the file of --env cannot be read: EISDIR: illegal operation on a directory, read: /',
    ],
    [['--env', 'a', 'export', '--env=b'], '--env is given more than once'],
    [['export', '--env'], "option '--env <FILE>' argument missing"],
    [['export', '--env', '--json'], '--env lacks its value'],
    [['export', '--env-fiel', 'x'], "unknown option '--env-fiel'"],
  ])('refuses %j', async (args, message) => {
    await refused(args, `${message}; see bin/petstore export --help`, { code: USAGE });
  });
});
