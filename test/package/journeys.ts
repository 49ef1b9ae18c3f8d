import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { loadDocsPage } from '../../src/adapters/http/openapi/docs-page.ts';
import { ask, KEY } from '../support/client.ts';
import { Command } from '../support/command.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { mongo } from '../support/shared-mongo.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { DONE, FAILED, type Program, ROOT, run, stop } from '../support/process.ts';
import { otherConnection } from '../support/sqlite.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PEM_FILES } from '../support/tls/pem-files.ts';

type Env = Record<string, string>;

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';
const STORED = `{"id":1,${PET.slice(1)}`;
const MIB = 1024 * 1024;

type Built = {
  /** The path of the program. */
  readonly program: string;
  /** The PATH that it needs. */
  readonly path: string;
  /** The name of the program in the commands that it prints. */
  readonly name: string;
};

/** The environment of a build. The commit is a fixed value instead of the commit of this clone, as in an image. */
export const BUILD_ENV = { ...process.env, PETSTORE_COMMIT: '0123456789abcdef0123456789abcdef01234567' };

/** Tests what users do with a built program: it must do the same as the sources in a clone. */
export function journeys(built: () => Built): void {
  const start = (args: readonly string[], env: Env, directory: string): Program => {
    const { program, path } = built();
    return run(program, args, { PATH: path, ...env }, directory);
  };
  const service = (env: Env, directory: string) => start([], { PORT: '0', API_KEYS: KEY, ...env }, directory);

  /** Runs a command that must succeed. Resolves with its standard output. */
  const succeeds = (args: readonly string[], env: Env, directory: string) =>
    start(args, env, directory).succeeded();

  test('starts in an empty directory, keeps its pets there, ends on a signal, and has the docs page', async () => {
    const directory = await testDirectory();
    const first = start([], { PORT: '0' }, directory);
    const [, key = ''] = await first.printed(/Bearer (pets_\w{66})'/, 'stderr');
    const url = await first.url();
    expect(await ask(`${url}/v1/pets`, { key, body: PET })).toMatchObject({ status: 201, body: STORED });
    expect(await readdir(directory)).toStrictEqual(['data']);
    await stop(first);
    // The lines before these may warn, for example that the service runs in a container.
    expect(first.log.map(({ msg }) => msg).slice(-6)).toStrictEqual([
      'audit',
      `listening on ${url} (page at ${url}/docs)`,
      'audit',
      'request',
      'shutting down',
      'stopped',
    ]);
    // Nothing comes before this text, so Node has printed no warning.
    expect(first.stderr).toMatch(/^\nThere is no API key yet, /);
    expect(first.stderr.endsWith(`\n\n  ${built().name} keys create --label NAME\n\n`)).toBe(true);

    const second = service({ PUBLIC_URL: 'http://127.0.0.1:3000' }, directory);
    const secondUrl = await second.url();
    expect(await ask(`${secondUrl}/v1/pets`)).toMatchObject({ status: 200, body: `[${STORED}]` });
    expect(second.stderr).toBe('');
    const text = async (file: string) => (await fetch(`${secondUrl}${file}`)).text();
    const { page, files } = await loadDocsPage();
    expect(await text('/docs')).toBe(page.bytes.toString());
    for (const [name, { bytes }] of Object.entries(files)) {
      expect(await text(`/docs/${name}`)).toBe(bytes.toString());
    }
    expect(JSON.parse(await text('/openapi.json'))).toStrictEqual(
      JSON.parse(await readFile(join(ROOT, 'openapi.json'), 'utf8')),
    );
  });

  test('prints what a clone prints, and its commit as a part of the version', async () => {
    for (const args of [['keys', 'create', '--help'], ['exprot']]) {
      const clone = new Command(args, {});
      const program = start(args, {}, ROOT);
      expect((await program.ended).code).toBe(await clone.ended);
      const texts = [clone.stdout, clone.stderr].map((text) => text.replaceAll('bin/petstore', built().name));
      expect([program.stdout, program.stderr]).toStrictEqual(texts);
    }
    expect(await succeeds(['--version'], {}, ROOT)).toBe(`${packageJson.version}+0123456789ab\n`);
  });

  test('starts Node with the same options as a clone does', async () => {
    const file = join(await testDirectory(), 'print-options.cjs');
    await writeFile(file, 'console.log(process.execArgv)');
    // The file is loaded by `--require`, because an executable ignores `--import`.
    const NODE_OPTIONS = `--require=${file}`;
    const clone = run('bin/petstore', ['--version'], { NODE_OPTIONS });
    const program = start(['--version'], { NODE_OPTIONS }, ROOT);
    expect(await program.ended).toStrictEqual(await clone.ended);
    const [options] = clone.stdout.split('\n');
    expect(options).toContain('--max-semi-space-size=');
    expect(program.stdout.split('\n')[0]).toBe(options);
  });

  test('writes a readable log to a terminal', async () => {
    const env = { PORT: '0', API_KEYS: KEY, DATABASE_URL: 'memory:', NO_COLOR: '1' };
    // `script` runs the program in a new terminal, and prints what the terminal shows.
    const terminal = run(
      'script',
      ['--quiet', '--return', '--command', `exec ${built().program}`, '/dev/null'],
      env,
    );
    const [, url] = await terminal.printed(/INFO.*: listening on (http:\S+)/);
    await ask(`${url}/v1/pets`);
    await terminal.printed(/INFO.*: GET \/v1\/pets 200 [\d.]+ ms/);
    terminal.write('\x03');
    expect(await terminal.ended).toStrictEqual(DONE);
  });

  test('checkpoints a large write-ahead log in a thread', async () => {
    const directory = await testDirectory();
    const file = join(directory, 'petstore.db');
    const program = service({ DATABASE_URL: `sqlite:${file}` }, directory);
    const url = await program.url();
    const reader = otherConnection(file, { readOnly: true });
    reader.exec('BEGIN; SELECT count(*) FROM pets');
    const blob = `CREATE TABLE other (b BLOB); INSERT INTO other VALUES (zeroblob(${70 * MIB}))`;
    otherConnection(file).exec(`PRAGMA wal_autocheckpoint = 0; ${blob}`);

    // The service measures the write-ahead log before a commit.
    const commit = async () => {
      await ask(`${url}/v1/pets`, { body: PET });
      return program.stdout;
    };
    await expect.poll(commit).toContain('has grown to');
    reader.exec('COMMIT');
    await expect.poll(commit).toContain('is small again');
    const warnings = program.log.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings.slice(-2)).toStrictEqual([
      expect.stringContaining(`the write-ahead log ${file}-wal has grown to 7`),
      expect.stringContaining(`the write-ahead log ${file}-wal is small again: `),
    ]);
  });

  test.skipIf(mongo === undefined)('uses MongoDB, with metrics, traces and TLS', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });
    const early = start(['export'], { DATABASE_URL }, ROOT);
    expect(await early.ended).toStrictEqual(FAILED);
    expect(early.stderr).toContain(`run: ${built().name} migrate`);
    expect(await succeeds(['migrate', '--json'], { DATABASE_URL }, ROOT)).toContain('"from":null');
    const receiver = await OtlpReceiver.start();
    const env = {
      DATABASE_URL,
      METRICS_PORT: '0',
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      TLS_CERT: PEM_FILES.cert,
      TLS_KEY: PEM_FILES.key,
    };
    const program = service(env, ROOT);
    const url = await program.url();
    const headers = [`Authorization: Bearer ${KEY}`, 'Content-Type: application/json'];
    const options = ['--silent', '--insecure', ...headers.flatMap((header) => ['--header', header])];
    const curl = run('curl', [...options, '--data', PET, `${url}/v1/pets`]);
    await curl.ended;
    expect(curl.stdout).toBe(STORED);
    expect(await receiver.span('POST /v1/pets')).toMatchObject({ name: 'POST /v1/pets' });
    const [, metrics = ''] = await program.printed(/"msg":"metrics at (\S+)"/);
    expect(await (await fetch(metrics)).text()).toContain('route="/v1/pets",status_class="2xx"');
    await stop(program);
    expect(program.stderr).toBe('');
  });
}
