import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freshDatabase } from '../../support/mongo-database.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { type Program, run, runService, SERVICE } from '../../support/process.ts';
import { ask, KEY } from '../../support/client.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };
const USAGE = { code: 2, signal: null };

const FORM = /^pets_([0-9a-f]{16})_[0-9A-Za-z]{49}$/;
const DAY = 86_400_000;
const PET = '{"name":"Rex","categoryId":7}';

const mongo = await sharedMongo();

type Env = Record<string, string>;

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-keys-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  return directory;
}

async function sqlite(): Promise<Env> {
  return { DATABASE_URL: `sqlite:${await newDirectory()}/petstore.db` };
}

async function mongodb(): Promise<Env> {
  const { url } = await freshDatabase(mongo!);
  return { DATABASE_URL: url };
}

async function keys(env: Env, ...args: readonly string[]): Promise<Program> {
  const program = runService(env, ['keys', ...args]);
  expect(await program.ended, program.stderr).toStrictEqual(DONE);
  return program;
}

async function refused(env: Env, args: readonly string[], ended = USAGE): Promise<string> {
  const program = runService(env, ['keys', ...args]);
  expect(await program.ended).toStrictEqual(ended);
  expect(program.stdout).toBe('');
  return program.stderr;
}

/** A new key, alone on standard output. */
async function created(env: Env, ...args: readonly string[]): Promise<{ id: string; key: string }> {
  const { stdout } = await keys(env, 'create', ...args);
  const [, id = ''] = FORM.exec(stdout.replace(/\n$/, '')) ?? [];
  return { id, key: stdout.trim() };
}

function linesOf(program: Program): Record<string, unknown>[] {
  return program.stderr
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** Asks until the key is refused: how long that takes, in milliseconds. */
async function refusedAfter(url: string, key: string): Promise<number> {
  const started = performance.now();
  for (;;) {
    const { status } = await ask(`${url}/v1/pets`, { key });
    if (status === 401) return performance.now() - started;
    expect(status).toBe(200);
  }
}

describe.each([
  ['SQLite', sqlite, true],
  ['MongoDB', mongodb, mongo !== undefined],
] as const)('keys in %s', (_storage, open, isThere) => {
  it.skipIf(!isThere)('are created, used, listed and revoked while a service runs', async () => {
    const env = await open();
    const first = await created(env, '--label', 'first');
    const service = runService(env);
    const url = await service.url();
    const { id, key } = await created(env, '--label', 'Kasse 3', '--expires', 'never');
    expect(await ask(`${url}/v1/pets`, { key, body: PET })).toMatchObject({ status: 201 });
    expect(await ask(`${url}/v1/pets`, { key: first.key })).toMatchObject({ status: 200 });

    const listed: unknown = JSON.parse((await keys(env, 'list', '--json')).stdout);
    expect(listed).toStrictEqual([
      expect.objectContaining({ id: first.id, label: 'first', state: 'active' }),
      {
        id,
        label: 'Kasse 3',
        state: 'active',
        scopes: ['pets:read', 'pets:write'],
        rateLimit: null,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/),
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
      },
    ]);

    await keys(env, 'revoke', id);
    expect(await refusedAfter(url, key)).toBeLessThan(10_000);
    expect(await ask(`${url}/v1/pets`, { key: first.key })).toMatchObject({ status: 200 });
    // Neither a key nor the hint for whoever has none.
    expect(service.stderr).toBe('');
  });

  it.skipIf(!isThere)('are rotated: both are good for a while, and then the new one', async () => {
    const env = await open();
    const old = await created(env, '--label', 'till', '--scopes', 'pets:read', '--expires', '30d');
    const url = await runService(env).url();

    const soft = (await keys(env, 'rotate', old.id, '--overlap', '1h', '--json')).stdout;
    const { key, id, replaces, ...rest } = JSON.parse(soft);
    expect(id).toBe(FORM.exec(key)?.[1]);
    expect(rest).toMatchObject({ label: 'till', scopes: ['pets:read'], state: 'active' });
    expect(Date.parse(rest.expiresAt) - Date.parse(rest.createdAt)).toBe(365 * DAY);
    expect(replaces).toBe(old.id);
    expect((await ask(`${url}/v1/pets`, { key: old.key })).status).toBe(200);
    expect((await ask(`${url}/v1/pets`, { key })).status).toBe(200);

    const { stdout: next } = await keys(env, 'rotate', id, '--overlap', '0s', '--expires', 'never');
    expect(next).toMatch(/^pets_\w+\n$/);
    expect(await refusedAfter(url, key)).toBeLessThan(10_000);
    expect((await ask(`${url}/v1/pets`, { key: next.trim() })).status).toBe(200);
  });

  it.skipIf(!isThere)('are good for what their scopes say', async () => {
    const env = await open();
    const reader = await created(env, '--label', 'reader', '--scopes', 'pets:read');
    const writer = await created(env, '--label', 'writer', '--scopes', 'pets:write');
    const url = await runService(env).url();
    expect((await ask(`${url}/v1/pets`, { key: reader.key })).status).toBe(200);
    expect((await ask(`${url}/v1/pets`, { key: reader.key, body: PET })).status).toBe(403);
    expect((await ask(`${url}/v1/pets`, { key: writer.key })).status).toBe(403);
    expect((await ask(`${url}/v1/pets`, { key: writer.key, body: PET })).status).toBe(201);
  });

  it.skipIf(!isThere)('have limits of their own', async () => {
    const env = await open();
    const { key } = await created(env, '--label', 'slow', '--rate-limit', '1/1h');
    const url = await runService({ ...env, RATE_LIMIT: '1000/1s' }).url();
    expect(await ask(`${url}/v1/pets`, { key })).toMatchObject({ status: 200 });
    expect(await ask(`${url}/v1/pets`, { key })).toMatchObject({ status: 429 });
  });
});

describe.skipIf(mongo === undefined)('three services on one MongoDB', () => {
  it('all refuse a key within 10 seconds of its revocation', async () => {
    const env = await mongodb();
    const { id, key } = await created(env, '--label', 'till');
    const urls = await Promise.all([1, 2, 3].map(() => runService(env).url()));
    const over = new AbortController();
    // Each is asked all the time, so that each has the key in mind when it is revoked.
    const lastGood = urls.map(async (url) => {
      let last = 0;
      while (!over.signal.aborted) {
        if ((await ask(`${url}/v1/pets`, { key })).status === 200) last = performance.now();
      }
      return last;
    });
    await keys(env, 'revoke', id);
    const revoked = performance.now();
    await Promise.all(urls.map(async (url) => refusedAfter(url, key)));
    over.abort();
    for (const last of await Promise.all(lastGood)) expect(last - revoked).toBeLessThan(10_000);
  });
});

describe('the first start', () => {
  it('on an empty file says what to type for a key that stays, and then makes none any more', async () => {
    const env = await sqlite();
    const first = runService(env);
    const hint = /^For one that stays:\n\n  npm run petstore -- keys create --label NAME\n\n/m;
    await first.printed(hint, 'stderr');
    const { key } = await created(env, '--label', 'NAME');
    expect((await ask(`${await first.url()}/v1/pets`, { key })).status).toBe(200);
    first.signal('SIGTERM');
    expect(await first.ended).toStrictEqual(DONE);

    const second = runService(env);
    expect((await ask(`${await second.url()}/v1/pets`, { key })).status).toBe(200);
    second.signal('SIGTERM');
    expect(await second.ended).toStrictEqual(DONE);
    expect(second.stderr).toBe('');
  });

  it('where others can reach it is refused until there is a key, with what to type', async () => {
    const env = { ...(await sqlite()), HOST: '0.0.0.0' };
    const first = runService(env);
    expect(await first.ended).toStrictEqual(FAILED);
    expect(first.stderr).toBe(
      'petstore: there is no API key yet, and others can reach the service when HOST is not a loopback address; ' +
        'run: npm run petstore -- keys create --label NAME\n',
    );
    const { key } = await created(env, '--label', 'NAME');
    const url = (await runService(env).url()).replace('0.0.0.0', '127.0.0.1');
    expect((await ask(`${url}/v1/pets`, { key })).status).toBe(200);
  });

  it('takes the keys of API_KEYS beside those in the storage', async () => {
    const env = { ...(await sqlite()), API_KEYS: KEY };
    const { key } = await created(env, '--label', 'stored');
    const url = await runService(env).url();
    expect((await ask(`${url}/v1/pets`, { key })).status).toBe(200);
    expect((await ask(`${url}/v1/pets`)).status).toBe(200);
  });
});

describe('petstore keys', () => {
  it('writes an audit line for each action to standard error', async () => {
    const env = await sqlite();
    const create = await keys(env, 'create', '--label', 'till', '--expires', '2d');
    const [, id] = FORM.exec(create.stdout.trim())!;
    const line = { level: 30, time: expect.any(Number), keyId: id, keyLabel: 'till' };
    const scopes = ['pets:read', 'pets:write'];
    const expiresAt = expect.any(String);
    expect(linesOf(create)).toStrictEqual([
      { ...line, audit: 'key.created', scopes, expiresAt, msg: 'key created' },
    ]);

    const rotate = await keys(env, 'rotate', id!);
    const [, next] = FORM.exec(rotate.stdout.trim())!;
    expect(linesOf(rotate)).toMatchObject([
      { ...line, keyId: next, audit: 'key.created' },
      { ...line, audit: 'key.replaced', expiresAt },
    ]);

    const revoke = await keys(env, 'revoke', id!);
    expect(linesOf(revoke)).toMatchObject([{ ...line, audit: 'key.revoked', revokedAt: expect.any(String) }]);
    expect(revoke.stdout).toBe(`the key ${id} is revoked; every service refuses it within 10 seconds\n`);
  });

  it('shows keys to people', async () => {
    const env = await sqlite();
    const { id } = await created(env, '--label', 'Müller & Söhne', '--rate-limit', '10/1m');
    await keys(env, 'revoke', id);
    const show = await keys(env, 'show', id);
    expect(show.stdout.split('\n').map((line) => line.split(':')[0])).toStrictEqual([
      'id',
      'label',
      'state',
      'scopes',
      'rateLimit',
      'createdAt',
      'expiresAt',
      'revokedAt',
      'lastUsedAt',
      '',
    ]);
    expect(show.stdout).toMatch(/^state: +revoked$/m);
    expect(show.stdout).toMatch(/^rateLimit: +10\/60s$/m);
    const list = await keys(env, 'list');
    expect(list.stdout).toMatch(
      new RegExp(
        `^ID +STATE +SCOPES +CREATED +EXPIRES +LAST USED +LABEL\\n` +
          `${id}  revoked  pets:read,pets:write  (\\S+T\\d\\d:\\d\\dZ  ){2}never +Müller & Söhne\\n$`,
      ),
    );
    expect(JSON.parse((await keys(env, 'show', id, '--json')).stdout)).toMatchObject({
      id,
      rateLimit: '10/60s',
    });
  });

  it('lets a key live for a year when nothing else is said', async () => {
    const env = await sqlite();
    const { createdAt, expiresAt } = JSON.parse((await keys(env, 'create', '--label', 'x', '--json')).stdout);
    const days = (Date.parse(expiresAt) - Date.parse(createdAt)) / DAY;
    expect(days).toBe(365);
  });

  it('rotates a key again, whose replacement was lost, with a life that is not cut short', async () => {
    const env = await sqlite();
    const { id } = await created(env, '--label', 'x', '--expires', 'never');
    await keys(env, 'rotate', id);
    const again = JSON.parse((await keys(env, 'rotate', id, '--json')).stdout);
    expect(Date.parse(again.expiresAt) - Date.parse(again.createdAt)).toBe(365 * DAY);
  });

  it('revokes a key again that it could not write, and leaves the old one as it is', async () => {
    const env = await sqlite();
    const { id } = await created(env, '--label', 'x');
    for (const command of ['create --label y', `rotate ${id} --overlap 0s`]) {
      const line = `exec '${process.execPath}' ${SERVICE.join(' ')} keys ${command} > /dev/full`;
      const program = run('bash', ['-c', line], env);
      expect(await program.ended).toStrictEqual(FAILED);
      expect(program.stderr).toMatch(
        /"audit":"key.revoked".*\npetstore: standard output cannot be written: ENOSPC.*\n$/,
      );
    }
    const all = JSON.parse((await keys(env, 'list', '--json')).stdout);
    expect(all).toMatchObject([{ id, state: 'active' }, { state: 'revoked' }, { state: 'revoked' }]);
  });

  it('writes the key also when nobody can be told of it', async () => {
    const env = await sqlite();
    const line = `exec '${process.execPath}' ${SERVICE.join(' ')} keys create --label x 2> /dev/full`;
    const program = run('bash', ['-c', line], env);
    expect(await program.ended).toStrictEqual(DONE);
    expect(program.stdout).toMatch(/^pets_\w+\n$/);
  });

  it('revokes again without a change', async () => {
    const env = await sqlite();
    const { id } = await created(env, '--label', 'x');
    const first = JSON.parse((await keys(env, 'revoke', id, '--json')).stdout);
    expect(JSON.parse((await keys(env, 'revoke', id, '--json')).stdout)).toStrictEqual(first);
  });

  it.each([
    [['create'], '--label must be given: 1 to 64 characters'],
    [['create', '--label', ''], 'label must be 1 to 64 visible characters, with spaces only between them'],
    [
      ['create', '--label', 'a\nb'],
      'label must be 1 to 64 visible characters, with spaces only between them',
    ],
    [
      ['create', '--label', 'x', '--scopes', 'pets:all'],
      '--scopes must be one or more of pets:read,pets:write',
    ],
    [['create', '--label', 'x', '--scopes', ''], '--scopes must be one or more of pets:read,pets:write'],
    ...['0d', '-1d', '1y', 'soon'].map(
      (text) =>
        [
          ['create', '--label', 'x', `--expires=${text}`],
          '--expires must be a duration such as 365d or 12h, or never',
        ] as const,
    ),
    [['rotate', '0123456789abcdef', '--overlap', 'long'], '--overlap must be a duration such as 24h or 0s'],
    [['create', '--label', 'x', '--json=1'], 'an option lacks its value, or has one that it does not take'],
    [['create', '--label', 'x', '--overlap', '1h'], 'unknown option'],
    [['create', '--label'], 'an option lacks its value, or has one that it does not take'],
    [
      ['create', '--label', 'x', '--scopes', 'pets:read', '--scopes', 'pets:write'],
      '--scopes is given more than once',
    ],
    [['create', 'x', '--label', 'x'], 'too many arguments'],
    [['revoke', '0123456789abcdef', '0123456789abcdef'], 'too many arguments'],
    [[], 'the command must be create, list, show, revoke or rotate'],
    [['delete'], 'the command must be create, list, show, revoke or rotate'],
    [['toString'], 'the command must be create, list, show, revoke or rotate'],
  ] as const)('refuses %j in a line, with exit code 2, and touches nothing', async (args, problem) => {
    const directory = await newDirectory();
    const told = await refused({ DATABASE_URL: `sqlite:${directory}/petstore.db` }, args);
    expect(told).toBe(`petstore: ${problem}; see npm run petstore -- keys --help\n`);
    expect(await readdir(directory)).toStrictEqual([]);
  });

  it('names the form of a rate limit', async () => {
    const told = await refused(await sqlite(), ['create', '--label', 'x', '--rate-limit', '600']);
    expect(told).toMatch(/^petstore: --rate-limit must be requests\/time, such as 600\/60s .*\n$/);
  });

  it.each(['show', 'revoke', 'rotate'])('%s does not repeat a key that was taken for an id', async (name) => {
    const env = await sqlite();
    const { key } = await created(env, '--label', 'x');
    const told = await refused(env, [name, key]);
    expect(told).toBe(
      'petstore: ID must be the 16 hexadecimal digits that list shows, which a key has between its underscores; ' +
        'see npm run petstore -- keys --help\n',
    );
    expect(await refused(env, [name])).toBe(told);
  });

  it.each(['show', 'revoke', 'rotate'])('%s says that there is no such key', async (name) => {
    const env = await sqlite();
    await created(env, '--label', 'x');
    const told = await refused(env, [name, '0123456789abcdef'], FAILED);
    expect(told).toBe('petstore: no key has the id 0123456789abcdef\n');
  });

  it('does not rotate a key that is revoked', async () => {
    const env = await sqlite();
    const { id } = await created(env, '--label', 'x');
    await keys(env, 'revoke', id);
    expect(await refused(env, ['rotate', id], FAILED)).toBe(
      `petstore: the key ${id} is revoked and cannot be rotated; create a new key\n`,
    );
    expect(JSON.parse((await keys(env, 'list', '--json')).stdout)).toHaveLength(1);
  });

  it('says why there are none in memory', async () => {
    expect(await refused({ DATABASE_URL: 'memory:' }, ['list'])).toBe(
      'petstore: DATABASE_URL is memory:, which no command can reach, and which is gone with the service; ' +
        'give that API_KEYS; see npm run petstore -- keys --help\n',
    );
  });

  it.each([['list'], ['show', '0123456789abcdef'], ['revoke', '0123456789abcdef']])(
    'makes no file to look into: %s',
    async (...args) => {
      const directory = await newDirectory();
      const told = await refused({ DATABASE_URL: `sqlite:${directory}/mistyped.db` }, args, FAILED);
      expect(told).toBe(`petstore: there is no SQLite file ${directory}/mistyped.db\n`);
      expect(await readdir(directory)).toStrictEqual([]);
    },
  );

  it('refuses the file of another application', async () => {
    const file = join(await newDirectory(), 'notes.txt');
    await writeFile(file, 'These are notes, not a database. '.repeat(100));
    const told = await refused({ DATABASE_URL: `sqlite:${file}` }, ['create', '--label', 'x'], FAILED);
    expect(told).toBe(`petstore: the SQLite file ${file} is not a SQLite database; choose another path\n`);
  });

  it.skipIf(mongo === undefined)('says what to run on a database without a schema', async () => {
    const { url, db } = await freshDatabase(mongo!, { migrated: false });
    expect(await refused({ DATABASE_URL: url }, ['list'], FAILED)).toBe(
      `petstore: the database "${db.databaseName}" has no petstore schema; run: npm run petstore -- migrate\n`,
    );
  });

  it.each([['--help'], ['-h'], ['create', '--help'], ['rotate', '-h']])(
    'explains itself: %s',
    async (...args) => {
      const { stdout, stderr } = await keys({}, ...args);
      for (const word of ['create', 'list', 'show', 'revoke', 'rotate', '--json', '--scopes', '--overlap']) {
        expect(stdout).toContain(word);
      }
      expect(stderr).toBe('');
    },
  );
});
