import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { docker, removeLater } from './docker.ts';
import { onPath } from '../support/mongod-binary.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const runFile = promisify(execFile);

const OFFICIAL = 'node:26-slim';
const OWN = 'petstore-tests-node';

const APPLETS = ['sh', 'env', 'cat', 'cp', 'chmod', 'chown', 'ln', 'ls', 'mkdir', 'rm', 'sleep', 'uname'];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Why {@link findNodeImage} would fail here, or `undefined`. */
export async function nodeImageProblem(): Promise<string | undefined> {
  if (process.env['NODE_IMAGE'] || (await hasImage(OFFICIAL)) || (await onPath('busybox'))) return undefined;
  return 'no image with Node 26: set NODE_IMAGE, or install busybox-static';
}

/**
 * The name of an image with Node 26, npm and a shell: `NODE_IMAGE`, the official one if the engine has it, or one made of
 * the Node of this process, npm and busybox, which is removed when this process ends.
 *
 * @throws {Error} when there is no busybox, and when the image cannot be made
 */
export async function findNodeImage(): Promise<string> {
  const given = process.env['NODE_IMAGE'];
  if (given) return given;
  if (await hasImage(OFFICIAL)) return OFFICIAL;
  await using directory = await temporaryDirectory('node-image');
  await makeRoot(directory.path);
  removeLater('image', 'rm', '--force', OWN);
  const changes = [
    'ENV PATH=/usr/local/bin:/usr/bin:/bin',
    // Where this machine reaches the registry through a proxy of its own.
    ...(process.env['NODE_EXTRA_CA_CERTS'] ? [`ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`] : []),
  ].flatMap((change) => ['--change', change]);
  await runFile('sh', [
    '-c',
    'root=$1; shift; tar -C "$root" -c . | docker import "$@"',
    'sh',
    directory.path,
    ...changes,
    '-',
    OWN,
  ]);
  return OWN;
}

async function hasImage(name: string): Promise<boolean> {
  return docker('image', 'inspect', name).then(
    () => true,
    () => false,
  );
}

/** Makes a root file system: Node, npm, busybox, and the shared libraries of Node where its loader looks for them. */
async function makeRoot(root: string): Promise<void> {
  const put = async (from: string, to = from) => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await cp(from, join(root, to), { recursive: true, dereference: true });
  };
  await chmod(root, 0o755);
  await put(process.execPath, '/usr/local/bin/node');
  const npm = await realpath((await onPath('npm')) ?? 'no npm');
  await put(join(npm, '../..'), '/usr/local/lib/node_modules/npm');
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  await put((await onPath('busybox')) ?? 'no busybox', '/bin/busybox');
  for (const applet of APPLETS) await symlink('busybox', join(root, 'bin', applet));
  await mkdir(join(root, 'usr/bin'));
  await symlink('/bin/busybox', join(root, 'usr/bin/env'));
  const { stdout: libraries } = await runFile('ldd', [process.execPath]);
  const paths = Array.from(libraries.matchAll(/\/\S+/g), ([path]) => path);
  for (const path of paths) await put(path);
  // The rest of glibc, for the bundler.
  const glibc = dirname(paths.find((path) => path.endsWith('/libc.so.6')) ?? '/lib');
  for (const name of ['librt.so.1', 'libutil.so.1', 'libresolv.so.2']) await put(join(glibc, name));
  await put(CERTIFICATES);
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
  await mkdir(join(root, 'root'));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n');
}
