import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new, empty directory, which is removed when the running test ends. */
export async function testDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'petstore-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
