import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, KEY } from '../support/client.ts';
import { docker, dockerBuild, dockerProblem, removeLater, runContainer } from './docker.ts';
import { findNodeImage, nodeImageProblem } from './node-image.ts';
import { DONE, FAILED, ROOT, run, runService } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';
import { PEM_FILES } from '../support/tls/pem-files.ts';

const MAX_LAYERS_MB = 40;

/** The flags with which an operator would restrict a container. */
const RESTRICTIONS = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');

const problem = (await dockerProblem()) ?? (await nodeImageProblem());

describe.skipIf(problem !== undefined)(
  `the image${problem === undefined ? '' : ` (left out: ${problem})`}`,
  () => {
    const image = `petstore-tests:${randomUUID()}`;
    const labels = { VERSION: '1.2.3', REVISION: 'abcdef0', CREATED: '2026-11-21T00:00:00Z' };
    let base: string;
    let volume: string;

    beforeAll(async () => {
      base = await findNodeImage();
      removeLater('image', 'rm', '--force', image);
      const args = Object.entries({ NODE_IMAGE: base, ...labels }).flatMap(([name, value]) => {
        return ['--build-arg', `${name}=${value}`];
      });
      await dockerBuild('--network', 'host', '--tag', image, ...args, ROOT);
      volume = await docker('volume', 'create');
      removeLater('volume', 'rm', '--force', volume);
    });

    const data = () => ['--volume', `${volume}:/petstore/data`];

    it(`is at most ${MAX_LAYERS_MB} MB larger than the image of Node`, async () => {
      const sizes = await docker('image', 'inspect', '--format', '{{.Size}}', image, base);
      const [imageSize = 0, nodeSize = 0] = sizes.split('\n').map(Number);
      const megabytes = (imageSize - nodeSize) / 1e6;
      console.log(`the image is ${megabytes.toFixed(1)} MB larger than the image of Node`);
      expect(megabytes).toBeGreaterThan(1);
      expect(megabytes).toBeLessThan(MAX_LAYERS_MB);
    });

    it('declares its user, command, port, volume, health check and labels', async () => {
      const [{ Config: config }] = JSON.parse(await docker('image', 'inspect', image));
      expect(config).toMatchObject({
        User: '1000:1000',
        WorkingDir: '/petstore',
        Entrypoint: ['bin/petstore'],
        Cmd: ['serve'],
        StopSignal: 'SIGTERM',
        Volumes: { '/petstore/data': {} },
        ExposedPorts: { '3000/tcp': {} },
        Healthcheck: { Test: ['CMD', 'node', 'is-alive.js'] },
        Labels: {
          'org.opencontainers.image.title': 'petstore',
          'org.opencontainers.image.licenses': 'MIT',
          'org.opencontainers.image.version': labels.VERSION,
          'org.opencontainers.image.revision': labels.REVISION,
          'org.opencontainers.image.created': labels.CREATED,
        },
      });
      expect(config.Env).toEqual(expect.arrayContaining(['HOST=0.0.0.0', 'NODE_ENV=production']));
    });

    it('does not start the service when there is no API key', async () => {
      const { program } = runContainer(image, { flags: [...RESTRICTIONS, ...data()] });
      expect(await program.ended).toStrictEqual({ code: 1, signal: null });
      expect(program.stderr).toContain('there is no API key yet');
    });

    it('runs on a read-only file system, and accepts the API key that another container has written to the volume', async () => {
      const args = ['keys', 'create', '--label', 'first'];
      const command = runContainer(image, { flags: [...RESTRICTIONS, ...data()], args }).program;
      const key = (await command.succeeded()).trim();

      const flags = [...RESTRICTIONS, ...data(), '--publish', '127.0.0.1::3000', '--health-interval', '1s'];
      const { name, program } = runContainer(image, { flags });
      await program.logged(/listening on [^"]+/);
      const url = `http://${await docker('port', name, '3000/tcp')}`;
      const rex = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
      const body = '{"name":"Rex","categoryId":7}';
      expect(await ask(`${url}/v1/pets`, { key, body })).toMatchObject({ status: 201, body: rex });
      expect(await ask(`${url}/v1/pets`, { key })).toMatchObject({ status: 200, body: `[${rex}]` });

      expect(await docker('exec', name, 'petstore', '--version')).toMatch(/^\d+\.\d+\.\d+\+abcdef0$/);

      const health = () => docker('inspect', '--format', '{{.State.Health.Status}}', name);
      await expect.poll(health).toBe('healthy');
      // No process listens on port 1.
      const check = docker('exec', '--env', 'PORT=1', name, 'node', 'is-alive.js');
      await expect(check).rejects.toMatchObject({ code: 1 });

      expect(JSON.parse(await docker('exec', name, 'node', '-e', LIST_FILES))).toStrictEqual({
        top: [
          'LICENSE',
          'README.md',
          'THIRD-PARTY-LICENSES.txt',
          'bin',
          'data',
          'is-alive.js',
          'lib',
          'node_modules',
          'package.json',
          'page',
        ],
        packages: [],
        // Root owns all other files, so the service cannot change them even if the file system is not read-only.
        owned: ['data'],
      });

      // `docker stop` sends SIGTERM to the first process of the container.
      await docker('stop', '-t', '10', name);
      expect(await program.ended, program.stdout).toStrictEqual({ code: 0, signal: null });
      expect(program.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
      expect(program.stderr).toBe('');
    });

    it('stops the service immediately when a signal arrives before the service listens', async () => {
      const { name, program } = runContainer(image, {
        // No process listens on port 1. The service tries to connect for 15 s.
        flags: [
          ...RESTRICTIONS,
          '--env',
          'DATABASE_URL=mongodb://127.0.0.1:1/petstore',
          '--env',
          `API_KEYS=${KEY}`,
        ],
      });
      const readStatus = "console.log(require('node:fs').readFileSync('/proc/1/status', 'utf8'))";
      const caughtSignals = async () => {
        const status = await docker('exec', name, 'node', '-e', readStatus).catch(() => '');
        return BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)?.[1] ?? '0'}`);
      };
      await expect.poll(async () => (await caughtSignals()) & SIGTERM_BIT).toBe(SIGTERM_BIT);
      await docker('stop', '-t', '30', name);
      // If the service did not stop, Docker would kill it, and the exit code would be 137.
      expect(await program.ended).toStrictEqual({ code: 0, signal: null });
    });
  },
);

it('the Dockerfile needs no BuildKit', () => {
  expect(dockerfile).not.toMatch(/--(mount|link|chmod|parents|exclude)\b|<<|\$\{?(BUILD|TARGET)\w+(?!.*:-)/);
});

it('the Dockerfile names the image of Node in FROM by one digest, so that Dependabot finds it', () => {
  const images = dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm).map(([, image]) => image);
  expect([...new Set(images)]).toStrictEqual([
    expect.stringMatching(/^node:26-slim@sha256:[0-9a-f]{64}$/),
    '${NODE_IMAGE:-native-node}',
    '${NODE_IMAGE:-node}',
  ]);
});

const noProc = process.platform === 'linux' ? '' : ' (left out: it reads /proc, which only Linux has)';

it.skipIf(noProc !== '').each([
  ['plain HTTP', { TLS_CERT: '', TLS_KEY: '' }],
  ['TLS', { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }],
])(`over %s, the health check uses the address in the file of --env${noProc}`, async (_, tls) => {
  const HOST = '127.0.0.2';
  const server = createServer().listen({ host: HOST, port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  const envFile = join(await testDirectory(), 'env');
  const variables = { HOST, PORT: String(port), ...tls, API_KEYS: KEY };
  await writeFile(
    envFile,
    Object.entries(variables)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );

  const emptyVariables = { HOST: '', PORT: '', TLS_CERT: '', TLS_KEY: '' };
  const service = runService(emptyVariables, ['serve', `--env=${envFile}`]);
  await service.url();
  const check = async (env = {}) =>
    run(process.execPath, ['deploy/docker/is-alive.js', String(service.pid)], env).ended;
  expect(await check()).toStrictEqual(DONE);
  // As in the service, a variable of the environment replaces the one in the file. No process listens on port 1.
  expect(await check({ PORT: '1' })).toStrictEqual(FAILED);
});

const SIGTERM_BIT = 1n << 14n;

const LIST_FILES = `
  const { globSync, statSync } = require('node:fs');
  const files = globSync('**', { cwd: '/petstore' });
  console.log(JSON.stringify({
    top: files.filter((path) => path !== '.' && path !== '' && !path.includes('/')).sort(),
    packages: files.filter((path) => path.startsWith('node_modules/') && !path.startsWith('node_modules/.cache')),
    owned: files.filter((path) => statSync('/petstore/' + path).uid !== 0 && !path.startsWith('data/')),
  }));`;
