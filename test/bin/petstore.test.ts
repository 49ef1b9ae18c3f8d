import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, run, runService, SERVICE } from '../support/process.ts';

test('an old Node is told what to do', async () => {
  const old = 'Object.defineProperty(process, "version", { value: "v20.20.2" })';
  const petstore = run(process.execPath, [`--import=data:text/javascript,${old}`, ...SERVICE, '--version']);

  expect(await petstore.ended).toStrictEqual({ code: 1, signal: null });
  expect(petstore.stdout).toBe('');
  expect(petstore.stderr).toBe(
    'petstore: needs Node 26 or later, and this is v20.20.2. ' +
      'In a clone, `npm ci` installs one, and `npm start` uses it.\n',
  );
});

test('compiled sources are kept for the next start', async () => {
  const petstore = runService({}, ['--help']);
  expect(await petstore.ended).toStrictEqual({ code: 0, signal: null });

  const kept = await readdir(join(ROOT, 'node_modules/.cache/petstore'), { recursive: true });
  expect(kept.length).toBeGreaterThan(10);
});
