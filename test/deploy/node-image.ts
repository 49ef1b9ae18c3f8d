import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { docker, removeLater } from './docker.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const runFile = promisify(execFile);

const NODE_SLIM = 'node:26-slim';
/** The image that this file makes. */
const OWN_IMAGE = 'petstore-tests-node';

/** The programs of busybox in the image. */
const APPLETS = ['sh', 'env', 'cat', 'cp', 'chmod', 'chown', 'ln', 'ls', 'mkdir', 'rm', 'sleep', 'uname'];
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Why {@link findNodeImage} would fail on this machine, or `undefined` if it would not fail. */
export async function nodeImageProblem(): Promise<string | undefined> {
  if (process.env['NODE_IMAGE'] || (await hasImage(NODE_SLIM)) || (await findOnPath('busybox')))
    return undefined;
  return 'no image with Node 26: set NODE_IMAGE, or install busybox-static';
}

/**
 * Returns the name of an image with Node 26, npm and a shell: `NODE_IMAGE`, or the official image if the engine has it,
 * or a new image. The new image has the Node of this process, npm and busybox. It is removed when this process ends.
 *
 * @throws {Error} when there is no busybox, or when the new image cannot be made
 */
export async function findNodeImage(): Promise<string> {
  const configuredImage = process.env['NODE_IMAGE'];
  if (configuredImage) return configuredImage;
  if (await hasImage(NODE_SLIM)) return NODE_SLIM;
  await using directory = await temporaryDirectory('node-image');
  await makeRoot(directory.path);
  removeLater('image', 'rm', '--force', OWN_IMAGE);
  const changes = [
    'ENV PATH=/usr/local/bin:/usr/bin:/bin',
    // This variable is set on a machine that reaches the npm registry through a proxy with its own certificate.
    ...(process.env['NODE_EXTRA_CA_CERTS'] ? [`ENV NODE_EXTRA_CA_CERTS=${CERTIFICATES}`] : []),
  ].flatMap((change) => ['--change', change]);
  await runFile('sh', [
    '-c',
    'root=$1; shift; tar -C "$root" -c . | docker import "$@"',
    'sh',
    directory.path,
    ...changes,
    '-',
    OWN_IMAGE,
  ]);
  return OWN_IMAGE;
}

async function hasImage(name: string): Promise<boolean> {
  return docker('image', 'inspect', name).then(
    () => true,
    () => false,
  );
}

/** Makes a root file system with Node, npm and busybox. The shared libraries of Node keep their paths. */
async function makeRoot(root: string): Promise<void> {
  const copyToRoot = async (from: string, to = from) => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await cp(from, join(root, to), { recursive: true, dereference: true });
  };
  await chmod(root, 0o755);
  await copyToRoot(process.execPath, '/usr/local/bin/node');
  const npm = await realpath((await findOnPath('npm')) ?? 'no npm');
  await copyToRoot(join(npm, '../..'), '/usr/local/lib/node_modules/npm');
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  await copyToRoot((await findOnPath('busybox')) ?? 'no busybox', '/bin/busybox');
  for (const applet of APPLETS) await symlink('busybox', join(root, 'bin', applet));
  await mkdir(join(root, 'usr/bin'));
  await symlink('/bin/busybox', join(root, 'usr/bin/env'));
  const { stdout: libraries } = await runFile('ldd', [process.execPath]);
  const paths = Array.from(libraries.matchAll(/\/\S+/g), ([path]) => path);
  for (const path of paths) await copyToRoot(path);
  // The bundler needs further libraries of glibc.
  const glibc = dirname(paths.find((path) => path.endsWith('/libc.so.6')) ?? '/lib');
  for (const name of ['librt.so.1', 'libutil.so.1', 'libresolv.so.2']) await copyToRoot(join(glibc, name));
  await copyToRoot(CERTIFICATES);
  await mkdir(join(root, 'tmp'));
  await chmod(join(root, 'tmp'), 0o1777);
  await mkdir(join(root, 'root'));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/tmp:/bin/sh\n');
}
