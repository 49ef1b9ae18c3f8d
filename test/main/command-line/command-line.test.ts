import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { petLines } from '../../../src/adapters/ndjson/partial-file.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import type { ArchivedPet, PetArchive } from '../../../src/application/ports/pet-archive.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';
import { addressOf, freshDatabase, throughPort } from '../../support/mongo-database.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { type Program, ROOT, run, runService } from '../../support/process.ts';
import { silentLog } from '../../support/sqlite.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ask, KEY } from '../../support/client.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };
const USAGE = { code: 2, signal: null };

const PETS = archivedPets(5200);
const LAST = PETS.at(-1)!.id;

const mongo = await sharedMongo();

function petstore(args: readonly string[], env: Record<string, string> = {}): Program {
  return runService(env, args);
}

async function succeeds(args: readonly string[], env: Record<string, string> = {}): Promise<Program> {
  const program = petstore(args, env);
  expect(await program.ended, program.stderr).toStrictEqual(DONE);
  return program;
}

async function refused(
  args: readonly string[],
  message: string | RegExp,
  { env = {}, ended = FAILED } = {},
): Promise<void> {
  const program = petstore(args, env);
  expect(await program.ended).toStrictEqual(ended);
  expect(program.stderr).toMatch(
    typeof message === 'string' ? new RegExp(`^petstore: ${RegExp.escape(message)}\\n$`) : message,
  );
  expect(program.stdout).toBe('');
}

async function newDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-command-line-'));
  onTestFinished(async () => rm(directory, { recursive: true }));
  return directory;
}

/** A SQLite file with these pets. */
async function sqliteWith(pets: readonly ArchivedPet[]): Promise<{ url: string; path: string }> {
  const path = join(await newDirectory(), 'petstore.db');
  const { archive, close } = await openSqliteStorage(path, silentLog);
  await archive.write(pets);
  await close();
  return { url: `sqlite:${path}`, path };
}

async function mongoWith(pets: readonly ArchivedPet[]): Promise<string> {
  const { url } = await freshDatabase(mongo!);
  await using target = await opened(url);
  await target.archive.write(pets);
  return url;
}

async function opened(url: string): Promise<{ archive: PetArchive } & AsyncDisposable> {
  const path = /^sqlite:(.*)/.exec(url)?.[1];
  const { archive, close } =
    path === undefined ? await openMongoArchive(url) : await openSqliteStorage(path, silentLog);
  return { archive, [Symbol.asyncDispose]: close };
}

async function everythingIn(url: string): Promise<readonly ArchivedPet[]> {
  await using storage = await opened(url);
  return await storage.archive.read(0n, 100_000);
}

async function fileWith(text: string): Promise<string> {
  const path = join(await newDirectory(), 'pets.ndjson');
  await writeFile(path, text);
  return path;
}

/** The same MongoDB database through a proxy that can stop a process at a command of its own. */
async function through(url: string): Promise<{ url: string; proxy: TcpProxy }> {
  const proxy = await new TcpProxy(addressOf(url)).listen();
  onTestFinished(() => proxy.close());
  return { url: throughPort(url, proxy.port), proxy };
}

/** Resolves when so many of these commands have passed and the next one is on its way, where it stays. */
async function stopAt(proxy: TcpProxy, command: string, passed: number): Promise<void> {
  let release = await proxy.hold(command);
  for (let n = 0; n < passed; n++) {
    release();
    release = await proxy.hold(command);
  }
}

describe('export', () => {
  it('writes every pet to standard output, while a service has the file', async () => {
    const { url, path } = await sqliteWith(PETS);
    const service = await openSqliteStorage(path, silentLog);
    const program = await succeeds(['export', '--from', url]);
    await service.close();
    expect(program.stdout).toBe(petLines(PETS));
    expect(program.stderr).toBe('exported 5200 pets\n');
  });

  it('takes DATABASE_URL where nothing is said', async () => {
    const { url: DATABASE_URL } = await sqliteWith(PETS.slice(0, 3));
    expect((await succeeds(['export'], { DATABASE_URL })).stdout).toBe(petLines(PETS.slice(0, 3)));
  });

  it('writes a file, in place of an older one, and leaves nothing else', async () => {
    const { url } = await sqliteWith(PETS);
    const path = await fileWith('older\n');
    const program = await succeeds(['export', '--from', url, path]);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
    expect([program.stdout, program.stderr]).toStrictEqual(['', 'exported 5200 pets\n']);
  });

  it.each([
    ['its last complete line', 2000, '{"id":77'],
    ['a complete line', 2000, ''],
    ['all of it', 5200, ''],
  ])('goes on with a partial file after %s', async (_, count, torn) => {
    const { url } = await sqliteWith(PETS);
    const path = join(await newDirectory(), 'pets.ndjson');
    await writeFile(`${path}.partial`, petLines(PETS.slice(0, count)) + torn);
    const program = await succeeds(['export', '--from', url, path]);
    expect(program.stderr).toBe(`going on with ${path}.partial, after ${count} pets\nexported 5200 pets\n`);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });

  it.each([
    ['of another storage', petLines([...PETS.slice(0, 9), anArchivedPet({ id: PETS[9]!.id })])],
    ['that has lost a line', petLines(PETS.slice(1, 9))],
    ['that is none', 'one\ntwo\nthree\n'],
    ['with nothing complete', '{"id":1'],
  ])('leaves a partial file as it is %s', async (_, text) => {
    const { url } = await sqliteWith(PETS);
    const path = await fileWith('older\n');
    await writeFile(`${path}.partial`, text);
    await refused(
      ['export', '--from', url, path],
      `${path}.partial does not match the first pets of this storage as they are now; move it away or export to another FILE`,
    );
    expect(await readFile(`${path}.partial`, 'utf8')).toBe(text);
    expect(await readFile(path, 'utf8')).toBe('older\n');
    expect((await readdir(join(path, '..'))).toSorted()).toStrictEqual([
      'pets.ndjson',
      'pets.ndjson.partial',
    ]);
  });

  it('writes all of it or refuses when several write one file at once', async () => {
    const { url } = await sqliteWith(PETS);
    const path = join(await newDirectory(), 'pets.ndjson');

    const programs = Array.from({ length: 4 }, () => petstore(['export', '--from', url, path]));
    const ended = await Promise.all(programs.map((program) => program.ended));

    const lines = programs.map(({ stderr }) => stderr).toSorted();
    const busy = `petstore: ${path}.partial is being written by another export\n`;
    expect(lines).toContain('exported 5200 pets\n');
    expect(lines.filter((line) => line !== busy && line !== 'exported 5200 pets\n')).toStrictEqual([]);
    expect(ended.filter(({ code }) => code === 1)).toHaveLength(lines.filter((line) => line === busy).length);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
  });

  it('begins with a partial file that is empty', async () => {
    const { url } = await sqliteWith(PETS);
    const path = join(await newDirectory(), 'pets.ndjson');
    await writeFile(`${path}.partial`, '');
    const program = await succeeds(['export', '--from', url, path]);
    expect(program.stderr).toBe('exported 5200 pets\n');
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });

  it.each([
    ['a new file is for its owner alone', undefined, 0o600],
    ['one that others may read stays so', 0o644, 0o644],
    ['one for its owner alone stays so', 0o600, 0o600],
  ])('keeps permissions: %s', async (_, before, after) => {
    const { url } = await sqliteWith(PETS.slice(0, 3));
    const path = join(await newDirectory(), 'pets.ndjson');
    if (before !== undefined) {
      await writeFile(path, 'older\n');
      await chmod(path, before);
    }
    await succeeds(['export', '--from', url, path]);
    expect((await stat(path)).mode & 0o777).toBe(after);
  });

  it.each([
    ['a file', 'older\n'],
    ['nothing', undefined],
  ])('writes what a symbolic link leads to: %s', async (_, text) => {
    const { url } = await sqliteWith(PETS.slice(0, 3));
    const directory = await newDirectory();
    const link = join(directory, 'pets.ndjson');
    await mkdir(join(directory, 'elsewhere'));
    if (text !== undefined) await writeFile(join(directory, 'elsewhere/real.ndjson'), text);
    await symlink('elsewhere/real.ndjson', link);
    await succeeds(['export', '--from', url, link]);
    expect(await readlink(link)).toBe('elsewhere/real.ndjson');
    expect(await readFile(link, 'utf8')).toBe(petLines(PETS.slice(0, 3)));
    expect(await readdir(join(directory, 'elsewhere'))).toStrictEqual(['real.ndjson']);
  });

  it.each(['pets.ndjson', 'pets.ndjson.partial'])('waits for no pipe: %s', async (name) => {
    const { url } = await sqliteWith(PETS.slice(0, 3));
    const directory = await newDirectory();
    await run('sh', ['-c', 'mkfifo "$1"', 'sh', join(directory, name)]).ended;
    const path = join(directory, 'pets.ndjson');
    await refused(['export', '--from', url, path], `${join(directory, name)} is not a regular file`);
    expect(await readdir(directory)).toStrictEqual([name]);
  });

  it('fails in one line when nobody reads what it writes', async () => {
    const { url } = await sqliteWith(PETS);
    const script = `"$0" src/main/main.ts export --from "$1" | head -1 >/dev/null; exit "\${PIPESTATUS[0]}"`;
    const program = run('bash', ['-c', script, process.execPath, url]);
    expect(await program.ended).toStrictEqual(FAILED);
    expect(program.stderr).toBe('petstore: standard output cannot be written: write EPIPE\n');
  });

  it('fails in one line when there is no place for the file', async () => {
    const { url } = await sqliteWith(PETS);
    await refused(
      ['export', '--from', url, '/nonexistent/pets.ndjson'],
      /^petstore: \/nonexistent\/pets\.ndjson cannot be written: ENOENT[^\n]*\n$/,
    );
    const directory = await newDirectory();
    await refused(['export', '--from', url, directory], `${directory} is not a regular file`);
  });
});

describe('import of what is no file', () => {
  it('waits for no pipe, and reads no device and no directory', async () => {
    const { url } = await sqliteWith([]);
    const directory = await newDirectory();
    const pipe = join(directory, 'pipe');
    await run('sh', ['-c', 'mkfifo "$1"', 'sh', pipe]).ended;
    for (const path of [pipe, '/dev/zero', directory]) {
      await refused(
        ['import', path, '--to', url],
        `${path} is not a regular file; an import reads it twice, first to check all of it`,
      );
    }
  });
});

describe('import', () => {
  it('brings the examples', async () => {
    const url = `sqlite:${join(await newDirectory(), 'data', 'petstore.db')}`;
    const program = await succeeds(['import', 'examples/pets.ndjson'], { DATABASE_URL: url });
    expect([program.stdout, program.stderr]).toStrictEqual(['imported 300 pets\n', '']);
    const text = await readFile(join(ROOT, 'examples/pets.ndjson'), 'utf8');
    expect(petLines(await everythingIn(url))).toBe(text);

    const again = await succeeds(['import', 'examples/pets.ndjson', '--to', url]);
    expect(again.stdout).toBe('imported 300 pets; 300 of them were there before\n');
    expect(petLines(await everythingIn(url))).toBe(text);
  });

  it('gives none of the ids again', async () => {
    const DATABASE_URL = `sqlite:${join(await newDirectory(), 'petstore.db')}`;
    await succeeds(['import', await fileWith(petLines(PETS)), '--to', DATABASE_URL]);
    const api = await runService({ API_KEYS: KEY, DATABASE_URL }).url();
    const added = await ask(`${api}/v1/pets`, { body: '{"name":"Tom","categoryId":7}' });
    expect(added.headers['location']).toBe(`/v1/pets/${LAST + 1n}`);
  });

  it('imports nothing when the last line is bad, and names it', async () => {
    const { url } = await sqliteWith([]);
    const path = await fileWith(`${petLines(PETS)}{"id":${LAST + 1n},"name":"","categoryId":1.5}\n`);
    await refused(
      ['import', path, '--to', url],
      `${path}:5201: categoryId must be an integer in the range of int64`,
    );
    await using storage = await opened(url);
    expect(await storage.archive.read(0n, 1)).toStrictEqual([]);
    expect(await storage.archive.lastId()).toBe(0n);
  });

  it('imports nothing when another pet stands in the way', async () => {
    const stranger = { ...PETS[4000]!, name: 'somebody else' };
    const { url } = await sqliteWith([stranger]);
    await refused(
      ['import', await fileWith(petLines(PETS)), '--to', url],
      `another pet already has the id ${stranger.id}; it was not overwritten`,
    );
    expect(await everythingIn(url)).toStrictEqual([stranger]);
  });

  it('says what other pets there are', async () => {
    const { url } = await sqliteWith([anArchivedPet({ id: 4n })]);
    const program = await succeeds(['import', await fileWith(petLines(PETS)), '--to', url]);
    expect(program.stdout).toBe('imported 5200 pets; other pets between them: 1, left as they were\n');
  });

  it('needs the service stopped', async () => {
    const { url, path } = await sqliteWith([]);
    const service = await openSqliteStorage(path, silentLog);
    await refused(
      ['import', await fileWith(petLines(PETS)), '--to', url],
      /^petstore: the SQLite file \S+ is in use by another petstore service; stop that service first\n$/,
    );
    expect(await service.archive.lastId()).toBe(0n);
    await service.close();
  });

  it('goes on when it was killed at any time', async () => {
    const { url, path } = await sqliteWith([]);
    const file = await fileWith(petLines(PETS));
    for (let kills = 0; kills < 5; kills++) {
      const program = petstore(['import', file, '--to', url]);
      // The log beside the file grows with each batch: somewhere in there.
      for (;;) {
        const files = await readdir(join(path, '..'));
        if (files.includes('petstore.db-wal')) break;
        await new Promise(setImmediate);
      }
      program.signal('SIGKILL');
      await program.ended;
    }
    await succeeds(['import', file, '--to', url]);
    expect(await everythingIn(url)).toStrictEqual(PETS);
  });
});

describe.skipIf(mongo === undefined)(
  `with MongoDB${mongo === undefined ? ' (left out: no server)' : ''}`,
  () => {
    it('copies both ways, byte for byte', async () => {
      const first = await sqliteWith(PETS);
      const { url: second } = await freshDatabase(mongo!);
      const third = `sqlite:${join(await newDirectory(), 'petstore.db')}`;

      const program = await succeeds(['copy', '--from', first.url, '--to', second]);
      expect([program.stdout, program.stderr]).toStrictEqual(['copied 5200 pets\ncopied 0 API keys\n', '']);
      await succeeds(['copy', '--from', second, '--to', third]);

      const lines = petLines(PETS);
      for (const url of [second, third])
        expect((await succeeds(['export', '--from', url])).stdout).toBe(lines);
      // With the idempotency, of which the lines of the export know.
      expect(await everythingIn(third)).toStrictEqual(PETS);
    });

    it('copies the API keys along, with their idempotency keys, and again when they have changed', async () => {
      const first = await sqliteWith([]);
      const { url: second } = await freshDatabase(mongo!);
      const { stdout } = await succeeds(['keys', 'create', '--label', 'till'], { DATABASE_URL: first.url });
      const key = stdout.trim();
      const request = {
        key,
        headers: { 'idempotency-key': 'once' },
        body: '{"name":"Rex","categoryId":7}',
      };
      const before = runService({ DATABASE_URL: first.url });
      const made = await ask(`${await before.url()}/v1/pets`, request);
      expect(made.status).toBe(201);
      before.signal('SIGTERM');
      await before.ended;

      const copied = await succeeds(['copy', '--from', first.url, '--to', second]);
      expect(copied.stdout).toBe('copied 1 pets\ncopied 1 API keys\n');
      const after = runService({ DATABASE_URL: second });
      const replayed = await ask(`${await after.url()}/v1/pets`, request);
      expect([replayed.status, replayed.body]).toStrictEqual([201, made.body]);
      expect(replayed.headers['idempotent-replayed']).toBe('true');

      await succeeds(['keys', 'revoke', key.split('_')[1]!], { DATABASE_URL: first.url });
      await succeeds(['copy', '--from', first.url, '--to', second]);
      const listed = await succeeds(['keys', 'list', '--json'], { DATABASE_URL: second });
      expect(JSON.parse(listed.stdout)).toMatchObject([{ label: 'till', state: 'revoked' }]);
    });

    it('imports what was exported, byte for byte', async () => {
      const { url: source } = await sqliteWith(PETS);
      const path = join(await newDirectory(), 'pets.ndjson');
      await succeeds(['export', '--from', source, path]);
      const { url: target } = await freshDatabase(mongo!);
      await succeeds(['import', path, '--to', target]);
      expect((await succeeds(['export', '--from', target])).stdout).toBe(await readFile(path, 'utf8'));
    });

    it('lets a service that is running give none of the ids', async () => {
      const { url: DATABASE_URL } = await freshDatabase(mongo!);
      const service = runService({ API_KEYS: KEY, DATABASE_URL });
      const api = await service.url();
      const { proxy, url } = await through(DATABASE_URL);
      const { url: from } = await sqliteWith(PETS);
      const copying = petstore(['copy', '--from', from, '--to', url]);
      await stopAt(proxy, 'insert', 2);

      const added = await ask(`${api}/v1/pets`, { body: '{"name":"Tom","categoryId":7}' });
      expect(added.headers['location']).toBe(`/v1/pets/${LAST + 1n}`);

      copying.signal('SIGKILL');
      await copying.ended;
      await succeeds(['copy', '--from', from, '--to', DATABASE_URL]);
      const next = await ask(`${api}/v1/pets`, { body: '{"name":"Ann","categoryId":7}' });
      expect(next.headers['location']).toBe(`/v1/pets/${LAST + 2n}`);
      expect((await everythingIn(DATABASE_URL)).slice(0, -2)).toStrictEqual(PETS);
    });

    it('lets a retry replay after the move', async () => {
      const from = `sqlite:${join(await newDirectory(), 'petstore.db')}`;
      const { url: to } = await freshDatabase(mongo!);
      const request = {
        headers: { 'idempotency-key': 'one-and-only' },
        body: '{"name":"Tom","categoryId":9223372036854775807}',
      };
      const before = runService({ API_KEYS: KEY, DATABASE_URL: from });
      const first = await ask(`${await before.url()}/v1/pets`, request);
      before.signal('SIGTERM');
      await before.ended;

      await succeeds(['copy', '--from', from, '--to', to]);

      const after = await runService({ API_KEYS: KEY, DATABASE_URL: to }).url();
      const again = await ask(`${after}/v1/pets`, request);
      expect(first).toMatchObject({ status: 201, headers: { location: '/v1/pets/1' } });
      expect(again).toMatchObject({
        status: 201,
        headers: { location: '/v1/pets/1', 'idempotent-replayed': 'true' },
        body: first.body,
      });
    });

    describe.each([
      ['SIGKILL', { code: null, signal: 'SIGKILL' }, ''],
      ['SIGINT', { code: 130, signal: null }, 'petstore: interrupted; run the same command again to go on'],
      ['SIGTERM', { code: 143, signal: null }, 'petstore: interrupted; run the same command again to go on'],
      ['SIGHUP', { code: 129, signal: null }, 'petstore: interrupted; run the same command again to go on'],
    ] as const)('interrupted by %s in the middle', (signal, ended, line) => {
      async function interrupt(program: Program): Promise<void> {
        program.signal(signal);
        expect(await program.ended).toStrictEqual(ended);
        expect(program.stderr.startsWith(line)).toBe(true);
        expect(program.stderr.split('\n')).toHaveLength(line === '' ? 1 : 2);
        expect(program.stdout).toBe('');
      }

      it.each(['copy', 'import'])('%s to MongoDB goes on where it was', async (command) => {
        const { url: target } = await freshDatabase(mongo!);
        const { url, proxy } = await through(target);
        const { url: from } = await sqliteWith(PETS);
        const what =
          command === 'copy' ? ['copy', '--from', from] : ['import', await fileWith(petLines(PETS))];

        const first = petstore([...what, '--to', url]);
        await stopAt(proxy, 'insert', 3);
        await interrupt(first);
        const before = (await everythingIn(target)).length;
        expect(before).toBeGreaterThan(0);
        expect(before).toBeLessThan(PETS.length);

        const second = await succeeds([...what, '--to', target]);
        expect(second.stdout).toContain(`5200 pets; ${before} of them were there before\n`);
        expect(await everythingIn(target)).toStrictEqual(PETS);
      });

      it('copy to SQLite goes on where it was', async () => {
        const source = await mongoWith(PETS);
        const { url, proxy } = await through(source);
        const to = `sqlite:${join(await newDirectory(), 'petstore.db')}`;

        const first = petstore(['copy', '--from', url, '--to', to]);
        // The first finds are for the version, the proof of the primary, three for the greatest and the last id, and two
        // for the comparison; then they are batches.
        await stopAt(proxy, 'find', 10);
        await interrupt(first);
        const before = (await everythingIn(to)).length;
        expect(before).toBeLessThan(PETS.length);

        await succeeds(['copy', '--from', source, '--to', to]);
        expect(await everythingIn(to)).toStrictEqual(PETS);
      });

      it('export to a file goes on where it was', async () => {
        const source = await mongoWith(PETS);
        const { url, proxy } = await through(source);
        const path = join(await newDirectory(), 'pets.ndjson');

        const first = petstore(['export', '--from', url, path]);
        await stopAt(proxy, 'find', 7);
        await interrupt(first);
        const partial = await readFile(`${path}.partial`, 'utf8');
        expect(partial.length).toBeGreaterThan(0);
        expect(petLines(PETS).startsWith(partial)).toBe(true);
        expect((await readdir(join(path, '..'))).toSorted()).toStrictEqual([
          'pets.ndjson.partial',
          // Locks nothing any more.
          'pets.ndjson.partial.lock',
        ]);

        const second = await succeeds(['export', '--from', source, path]);
        expect(second.stderr).toMatch(
          /^going on with \S+\.partial, after [1-9]\d* pets\nexported 5200 pets\n$/,
        );
        expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
        expect(await readdir(join(path, '..'))).toStrictEqual(['pets.ndjson']);
      });
    });

    it('refuses a second export to a file while the first runs', async () => {
      const source = await mongoWith(PETS);
      const { url, proxy } = await through(source);
      const path = await fileWith('older\n');
      const first = petstore(['export', '--from', url, path]);
      await stopAt(proxy, 'find', 4);

      await refused(['export', '--from', source, path], `${path}.partial is being written by another export`);

      expect(await readFile(path, 'utf8')).toBe('older\n');
      first.signal('SIGKILL');
      await first.ended;
      await succeeds(['export', '--from', source, path]);
      expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    });

    it('gives no file its name that two have written, because somebody has removed the lock', async () => {
      const source = await mongoWith(PETS);
      const { url, proxy } = await through(source);
      const path = join(await newDirectory(), 'pets.ndjson');
      const first = petstore(['export', '--from', url, path]);
      let release = await proxy.hold('find');
      for (let passed = 0; passed < 4; passed++) {
        release();
        release = await proxy.hold('find');
      }
      await rm(`${path}.partial.lock`);

      await succeeds(['export', '--from', source, path]);
      release();

      expect(await first.ended).toStrictEqual(FAILED);
      expect(first.stderr).toBe(`petstore: ${path}.partial was changed by another program\n`);
      expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
    });

    it('needs the schema there', async () => {
      const { url } = await freshDatabase(mongo!, { migrated: false });
      const { url: from } = await sqliteWith(PETS);
      await refused(
        ['copy', '--from', from, '--to', url],
        /^petstore: the database "\S+" has no petstore schema; run: npm run petstore -- migrate\n$/,
      );
    });
  },
);

describe('the command line', () => {
  it.each(['export', 'import', 'copy'])('explains %s', async (command) => {
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
      '--from and --to must both be given; see npm run petstore -- copy --help',
    ],
    [['export', '--to', 'sqlite:a.db'], 'unknown option; see npm run petstore -- export --help'],
    [
      ['export', '--from'],
      'an option lacks its value, or has one that it does not take; see npm run petstore -- export --help',
    ],
    [
      ['export', '--from', 'postgres://me:secret@x/y'],
      '--from must be sqlite:PATH or mongodb://HOST/DATABASE; see npm run petstore -- --help',
    ],
    [
      ['export', '--from', 'memory:'],
      '--from cannot be memory:, which is gone when a process ends, and seen by no other; see npm run petstore -- --help',
    ],
  ])('refuses %s', async (args, message) => {
    await refused(args, message, { ended: USAGE });
  });

  it('refuses what is in DATABASE_URL by that name', async () => {
    await refused(
      ['export'],
      'DATABASE_URL must be sqlite:PATH or mongodb://HOST/DATABASE; see npm run petstore -- --help',
      {
        env: { DATABASE_URL: 'hunter2' },
        ended: USAGE,
      },
    );
  });

  it('tells no password', async () => {
    const args = ['export', '--from', 'mongodb://me:hunter2@127.0.0.1:1/pets?serverSelectionTimeoutMS=100'];
    const program = petstore(args);
    expect(await program.ended).toStrictEqual(FAILED);
    expect(program.stderr).toMatch(/^petstore: MongoDB at 127\.0\.0\.1:1, database "pets": [^\n]+\n$/);
    expect(program.stderr).not.toContain('hunter2');
  });

  it('does not make a file that it should only read', async () => {
    const directory = await newDirectory();
    await refused(
      ['export', '--from', `sqlite:${directory}/petstore.db`],
      /^petstore: the SQLite file \S+ cannot be opened[^\n]*\n$/,
    );
    expect(await readdir(directory)).toStrictEqual([]);
  });
});
