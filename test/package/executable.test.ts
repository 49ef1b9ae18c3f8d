import { execFile } from 'node:child_process';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../support/process.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';
import { BUILD_ENV, journeys } from './journeys.ts';

let directory: TemporaryDirectory;
let executable = '';
let licenses = '';

beforeAll(async () => {
  directory = await temporaryDirectory('executable');
  const built = join(directory.path, 'dist-sea');
  await promisify(execFile)(process.execPath, ['scripts/build-sea.ts', built], { cwd: ROOT, env: BUILD_ENV });
  licenses = await readFile(join(built, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
  // The executable is moved to an empty directory, so that it cannot read other files of the build.
  executable = join(directory.path, 'petstore');
  await rename(join(built, 'petstore'), executable);
  await rm(built, { recursive: true });
});

afterAll(() => directory.remove());

journeys(() => ({ program: executable, path: '', name: executable }));

test('the executable comes with the licenses of Node and of all packages', () => {
  for (const name of ['Node.js', 'koa', 'mongodb', 'swagger-ui-dist']) {
    expect(licenses).toMatch(new RegExp(`^==== ${name} v?\\d.* ====$`, 'm'));
  }
});
