import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { newDirectory } from '../../support/archives.ts';
import { Command, FAILED, refused, succeeds, USAGE } from '../../support/command.ts';

describe('the general command line', () => {
  it.each([['--help'], ['-h'], ['migrate', '--help']])('explains itself: %s', async (...args) => {
    const help = await succeeds(args, { PORT: 'wrong' });
    expect(help.stderr).toBe('');
    for (const line of [
      /^ {2}npm start {2,}\S/m,
      /^ {2}npm run petstore -- migrate {2,}\S/m,
      /^ {2}npm run petstore -- backup {2,}\S/m,
      /^ {2}PORT +3000 +\S/m,
      /^ {2}API_KEYS +none +\S/m,
      /^ {2}SHUTDOWN_TIMEOUT +25s +\S/m,
    ]) {
      expect(help.stdout).toMatch(line);
    }
  });

  it.each([
    ['an unknown command', ['hunter2'], 'unknown command'],
    ['an argument too many', ['migrate', 'hunter2'], 'too many arguments'],
    ['the name of an object property', ['toString'], 'unknown command'],
    ['an unknown option', ['--port=hunter2'], 'unknown option'],
    [
      'a value for an option that takes none',
      ['--help=hunter2'],
      'an option lacks its value or has one that it does not take',
    ],
  ])('refuses %s in one line', async (_what, args, problem) => {
    await refused(args, `${problem}; see npm run petstore -- --help`, { code: USAGE });
  });

  it('refuses to migrate memory', async () => {
    await refused(['migrate'], 'DATABASE_URL must be mongodb://HOST/DATABASE to migrate');
  });

  it('does not begin when it is interrupted before', async () => {
    const directory = await newDirectory();
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
  it.each(['backup', 'export', 'import', 'copy'])('explains %s', async (command) => {
    const help = await succeeds([command, '--help']);
    expect(help.stdout).toMatch(new RegExp(`^Usage: npm run petstore -- ${command} .*\n\n`));
    expect(help.stderr).toBe('');
  });

  it.each([
    [['import'], 'FILE is missing; see npm run petstore -- import --help'],
    [['import', 'a', 'b'], 'too many arguments; see npm run petstore -- import --help'],
    [['copy', 'a', '--from', 'memory:'], 'too many arguments; see npm run petstore -- copy --help'],
    [
      ['copy', '--from', 'sqlite:a.db'],
      '--from and --to are both required; see npm run petstore -- copy --help',
    ],
    [['export', '--to', 'sqlite:a.db'], 'unknown option; see npm run petstore -- export --help'],
    [
      ['export', '--from'],
      'an option lacks its value or has one that it does not take; see npm run petstore -- export --help',
    ],
    [
      ['export', '--from', 'postgres://me:secret@x/y'],
      '--from must be sqlite:PATH or mongodb://HOST/DATABASE; see npm run petstore -- export --help',
    ],
    [
      ['export', '--from', 'memory:'],
      '--from is memory:, which no other process can reach; use a persistent storage; ' +
        'see npm run petstore -- export --help',
    ],
  ])('refuses %s', async (args, message) => {
    await refused(args, message, { code: USAGE });
  });

  it('refuses a wrong DATABASE_URL by that name', async () => {
    await refused(
      ['export'],
      'DATABASE_URL must be sqlite:PATH or mongodb://HOST/DATABASE; see npm run petstore -- export --help',
      {
        env: { DATABASE_URL: 'hunter2' },
        code: USAGE,
      },
    );
  });

  it('shows no password', async () => {
    const args = ['export', '--from', 'mongodb://me:hunter2@127.0.0.1:1/pets?serverSelectionTimeoutMS=100'];
    const program = new Command(args, {});
    expect(await program.ended).toBe(FAILED);
    expect(program.stderr).toMatch(/^petstore: MongoDB at 127\.0\.0\.1:1, database "pets": [^\n]+\n$/);
    expect(program.stderr).not.toContain('hunter2');
  });

  it('does not create a file that it only reads', async () => {
    const directory = await newDirectory();
    await refused(
      ['export', '--from', `sqlite:${directory}/petstore.db`],
      /^petstore: the SQLite file \S+ cannot be opened[^\n]*\n$/,
    );
    expect(await readdir(directory)).toStrictEqual([]);
  });
});
