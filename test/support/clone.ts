import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ROOT } from './process.ts';

/** What the commands of the documents need of a clone. */
const ENTRIES = ['bin', 'examples', 'node_modules', 'package.json', 'src'];

/** A directory that looks like a clone to its commands, with no data. It is removed when the running test ends. */
export async function emptyClone(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'petstore-clone-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  await mkdir(join(path, 'data'));
  for (const entry of ENTRIES) await symlink(join(ROOT, entry), join(path, entry));
  return path;
}
