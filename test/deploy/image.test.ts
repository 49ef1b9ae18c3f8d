import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ask } from '../support/client.ts';
import { docker, dockerBuild, dockerProblem, removeLater, runContainer } from '../support/docker.ts';
import { findNodeImage, type NodeImage } from '../support/node-image.ts';
import { ROOT } from '../support/process.ts';

const MAX_LAYERS_MB = 40;
const KEY = 'a-key-of-the-tests';
const SLOW = { timeout: 60_000 } as const;

/** As an operator would restrict it. */
const RESTRICTED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
const PUBLISHED = ['--publish', '127.0.0.1::3000'];

const problem = await dockerProblem();

describe.skipIf(problem !== undefined)(`the image${problem === undefined ? '' : ` (left out: ${problem})`}`, () => {
  const image = `petstore-tests:${randomUUID()}`;
  const labels = { VERSION: '1.2.3', REVISION: 'abcdef0', CREATED: '2026-11-21T00:00:00Z' };
  let base: NodeImage | undefined;

  beforeAll(async () => {
    base = await findNodeImage();
    if (base === undefined) throw new Error('no image with Node 26: set NODE_IMAGE, or install busybox-static');
    removeLater('image', 'rm', '--force', image);
    const args = Object.entries({ NODE_IMAGE: base.name, ...labels }).flatMap(([name, value]) => {
      return ['--build-arg', `${name}=${value}`];
    });
    await dockerBuild('--network', 'host', '--tag', image, ...args, ROOT);
  }, 300_000);
  afterAll(() => base?.remove());

  /** Starts a container that listens. */
  async function start(flags: readonly string[], args: readonly string[] = []) {
    const container = runContainer(image, { flags: [...RESTRICTED, ...PUBLISHED, ...flags], args });
    await container.program.logged(/listening on [^"]+/);
    const address = await docker('port', container.name, '3000/tcp');
    return { ...container, url: `http://${address}` };
  }

  /** SIGTERM for the first process of the container. */
  async function stop({ name, program }: Awaited<ReturnType<typeof start>>) {
    await docker('stop', '--time', '10', name);
    expect(await program.ended, program.stdout).toStrictEqual({ code: 0, signal: null });
    expect(program.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
  }

  async function volume(): Promise<readonly string[]> {
    const name = await docker('volume', 'create');
    onTestFinished(async () => void (await docker('volume', 'rm', '--force', name)));
    return ['--volume', `${name}:/petstore/data`];
  }

  it(`adds at most ${MAX_LAYERS_MB} MB to Node`, async () => {
    const sizes = await docker('image', 'inspect', '--format', '{{.Size}}', image, base?.name ?? '');
    const [whole = 0, node = 0] = sizes.split('\n').map(Number);
    const megabytes = (whole - node) / 1e6;
    console.log(`the image adds ${megabytes.toFixed(1)} MB to Node`);
    expect(megabytes).toBeGreaterThan(1);
    expect(megabytes).toBeLessThan(MAX_LAYERS_MB);
  });

  it('says how it is run', async () => {
    const [{ Config: config }] = JSON.parse(await docker('image', 'inspect', image));
    expect(config).toMatchObject({
      User: '1000:1000',
      WorkingDir: '/petstore',
      Entrypoint: ['node', 'bin/petstore.js'],
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

  it('holds the bundle and no package, and the service can change none of it', async () => {
    const script = `
      const { globSync, accessSync, constants } = require('node:fs');
      const canWrite = (path) => { try { accessSync(path, constants.W_OK); return true; } catch { return false; } };
      const files = globSync('**', { cwd: '/petstore' });
      console.log(JSON.stringify({
        top: globSync('*', { cwd: '/petstore' }).sort(),
        packages: files.filter((path) => path.startsWith('node_modules/') && !path.startsWith('node_modules/.cache')),
        writable: files.filter((path) => canWrite('/petstore/' + path)),
      }));`;
    const { program } = runContainer(image, { flags: ['--entrypoint', 'node'], args: ['-e', script] });
    await program.ended;
    expect(JSON.parse(program.stdout)).toStrictEqual({
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
      writable: ['data'],
    });
  });

  it('keeps its pets in a volume, with a root file system that cannot be written', SLOW, async () => {
    const data = await volume();
    const env = ['--env', `API_KEYS=${KEY}`];
    const first = await start([...data, ...env]);
    const rex = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
    const body = '{"name":"Rex","categoryId":7}';
    expect(await ask(`${first.url}/v1/pets`, { key: KEY, body })).toMatchObject({ status: 201, body: rex });
    await stop(first);

    const second = await start([...data, ...env]);
    expect(await ask(`${second.url}/v1/pets`, { key: KEY })).toMatchObject({ status: 200, body: `[${rex}]` });
    expect(second.program.stderr).toBe('');
    await stop(second);
  });

  it('refuses a start without a key, and makes one in the volume', SLOW, async () => {
    const data = await volume();
    const refused = runContainer(image, { flags: [...RESTRICTED, ...data] }).program;
    expect(await refused.ended).toStrictEqual({ code: 1, signal: null });
    expect(refused.stderr).toContain('there is no API key yet');

    const command = runContainer(image, {
      flags: [...RESTRICTED, ...data],
      args: ['keys', 'create', '--label', 'first'],
    }).program;
    expect(await command.ended).toStrictEqual({ code: 0, signal: null });
    const service = await start(data);
    const key = command.stdout.trim();
    expect(await ask(`${service.url}/v1/pets`, { key })).toMatchObject({ status: 200, body: '[]' });
    await stop(service);
  });

  it('reports its health', SLOW, async () => {
    const { name, program } = runContainer(image, {
      flags: [...RESTRICTED, '--health-interval', '1s', '--env', `API_KEYS=${KEY}`],
    });
    await program.logged(/listening on [^"]+/);
    const health = () => docker('inspect', '--format', '{{.State.Health.Status}}', name);
    await expect.poll(health, { timeout: 20_000 }).toBe('healthy');
    // No service listens there.
    await expect(docker('exec', '--env', 'PORT=1', name, 'node', 'is-alive.js')).rejects.toMatchObject({ code: 1 });
  });

  it('stops at once on a signal that comes before it listens', SLOW, async () => {
    const { name, program } = runContainer(image, {
      // Nothing listens there, and the service tries for 15 s.
      flags: [...RESTRICTED, '--env', 'DATABASE_URL=mongodb://127.0.0.1:1/petstore', '--env', `API_KEYS=${KEY}`],
    });
    const readStatus = "console.log(require('node:fs').readFileSync('/proc/1/status', 'utf8'))";
    const caught = async () => {
      const status = await docker('exec', name, 'node', '-e', readStatus).catch(() => '');
      return BigInt(`0x${/^SigCgt:\s*(\w+)$/m.exec(status)?.[1] ?? '0'}`);
    };
    await expect.poll(async () => (await caught()) & SIGTERM_BIT, { timeout: 20_000 }).toBe(SIGTERM_BIT);
    await docker('stop', '--time', '30', name);
    // Docker kills what does not stop: exit code 137.
    expect(await program.ended).toStrictEqual({ code: 0, signal: null });
  });
});

const SIGTERM_BIT = 1n << 14n;
