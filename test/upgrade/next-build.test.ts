import { expect, it } from 'vitest';
import { run } from '../support/process.ts';
import { nextBuild } from './next-build.ts';

it('the next build compiles', async () => {
  const root = await nextBuild();
  const compiler = run('node_modules/.bin/tsc', [], {}, root);
  expect((await compiler.ended).code, compiler.stdout).toBe(0);
});
