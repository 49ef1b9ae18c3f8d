import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { ask, KEY } from '../support/client.ts';
import { LIST_MODULES, ROOT, run } from '../support/process.ts';
import { damage, fileWith } from '../support/sqlite.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { BUILD_ENV, journeys } from './journeys.ts';
import { aPet } from '../support/pets.ts';

const execute = promisify(execFile);
const MIB = 1024 * 1024;
/** The `PATH`, in which this Node comes before the Node of the machine. */
const NODE_PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;

let directory: TemporaryDirectory;
/** The `node_modules` of a user who has installed the package. */
let modules = '';
let installed = '';
let program = '';

beforeAll(async () => {
  directory = await temporaryDirectory('package');
  const built = join(directory.path, 'dist');
  await execute(process.execPath, ['scripts/build.ts', built], { cwd: ROOT, env: BUILD_ENV });
  const home = join(directory.path, 'home');
  await mkdir(home);
  // With --install-links, npm packs the folder and installs the package, as `npm publish` and `npm install` would do.
  const npm = [
    '--install-links',
    '--cache',
    join(directory.path, 'cache'),
    '--offline',
    '--no-audit',
    '--no-fund',
  ];
  await execute('npm', ['install', built, ...npm], { cwd: home });
  modules = join(home, 'node_modules');
  installed = join(modules, packageJson.name);
  program = join(modules, '.bin/petstore');
});

afterAll(() => directory.remove());

describe('the npm package', () => {
  journeys(() => ({ program, path: NODE_PATH, name: 'petstore' }));

  test('contains exactly these files, and a package.json for users', async () => {
    const files = await filesOf(installed);
    expect(files.filter((file) => !file.startsWith('lib/'))).toStrictEqual([
      'LICENSE',
      'README.md',
      'THIRD-PARTY-LICENSES.txt',
      'bin/find-node',
      'bin/petstore',
      'bin/petstore.js',
      'package.json',
      'page/docs.css',
      'page/docs.js',
      'page/index.html',
      'page/swagger-ui-bundle.js',
      'page/swagger-ui.css',
    ]);
    expect(JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))).toStrictEqual({
      name: packageJson.name,
      version: packageJson.version,
      description: packageJson.description,
      license: packageJson.license,
      type: 'module',
      bin: { petstore: 'bin/petstore' },
      engines: packageJson.engines,
      imports: { '#main': './lib/main.cjs', '#page/*': './page/*' },
      files: ['bin', 'lib', 'page', 'THIRD-PARTY-LICENSES.txt'],
      publishConfig: { access: 'public', provenance: true },
    });
  });

  test('takes at most 30 MB together with its dependencies', async () => {
    const sizes = (await filesOf(modules)).map(async (file) => (await stat(join(modules, file))).size);
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(MIB);
    expect(bytes).toBeLessThanOrEqual(30_000_000);
  });

  test('names no path of the machine that built it', async () => {
    for (const file of await filesOf(installed)) {
      expect(await readFile(join(installed, file), 'latin1'), file).not.toContain(ROOT);
    }
  });

  test('has the license of every package that it contains', async () => {
    const licenses = await readFile(join(installed, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const packages = new Set((await sourcesOf(await filesOf(join(installed, 'lib')))).flatMap(packageOf));
    expect(packages.size).toBeGreaterThan(40);
    const licensed = Array.from(licenses.matchAll(/^==== (\S+) \S+: .+ ====$/gm), ([, name]) => name);
    expect(licensed).toStrictEqual(expect.arrayContaining([...packages, 'swagger-ui-dist']));
  });

  test('loads large packages only when they are needed, and names the TypeScript line of an error with --enable-source-maps', async () => {
    const file = await fileWith([{ id: 1n, ...aPet({ status: 'sold' }) }]);
    damage(file, "UPDATE pets SET status = 'secret'");
    const MODULES = join(directory.path, 'modules');
    const service = run(program, [], {
      PATH: NODE_PATH,
      PORT: '0',
      API_KEYS: KEY,
      DATABASE_URL: `sqlite:${file}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_SDK_DISABLED: 'true',
      NODE_OPTIONS: `--enable-source-maps ${LIST_MODULES}`,
      MODULES,
    });
    const url = await service.url();
    const urls = await readFile(MODULES, 'utf8');
    const loaded = Array.from(urls.matchAll(/\/lib\/(\S+)$/gm), ([, path = '']) => path);
    const packages = new Set((await sourcesOf(loaded)).flatMap(packageOf));
    expect(packages).toContain('koa');
    const onDemand = /^(mongodb|commander|pino-pretty|prom-client|@opentelemetry\/.*)$/;
    expect([...packages].filter((name) => onDemand.test(name))).toStrictEqual([]);

    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 503 });
    const { err } = await service.logged('failure');
    expect(err).toMatchObject({ stack: expect.stringMatching(/^ +at .*petstore\/src\/\S+\.ts:\d+:\d+\)$/m) });
    // Node keeps compiled sources in this cache for the next start.
    const cachedFiles = await readdir(join(installed, 'node_modules/.cache/petstore'), { recursive: true });
    expect(cachedFiles.length).toBeGreaterThan(5);
  });
});

/** Returns the sorted paths of the files below a directory, without the cache of compiled sources. */
async function filesOf(path: string): Promise<readonly string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(path.length + 1))
    .filter((file) => !file.includes('.cache/'))
    .toSorted();
}

/** Returns the sources from which these files of `lib` were made. */
async function sourcesOf(files: readonly string[]): Promise<readonly string[]> {
  const maps = (await filesOf(join(installed, 'lib'))).filter((file) => file.endsWith('.map'));
  const texts = maps
    .filter((map) => files.includes(map.slice(0, -'.map'.length)))
    .map((map) => readFile(join(installed, 'lib', map), 'utf8'));
  return (await Promise.all(texts)).flatMap((text): string[] => JSON.parse(text).sources);
}

function packageOf(source: string): string[] {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source) ?? [];
  return name === undefined ? [] : [name];
}
