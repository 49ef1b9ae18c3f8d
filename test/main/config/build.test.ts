import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { readCommit } from '../../../src/main/config/build.ts';
import { testDirectory } from '../../support/test-directory.ts';

const COMMIT = '-c user.name=x -c user.email=x commit --quiet --allow-empty --message=x'.split(' ');

it.each([
  ['a branch', []],
  ['a branch whose name is in packed-refs', [['pack-refs', '--all']]],
  ['no branch', [['checkout', '--quiet', '--detach']]],
])('the commit of a clone on %s is found without git', async (_, commands) => {
  const cwd = await testDirectory();
  const git = (args: readonly string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
  for (const args of [['init', '--quiet'], COMMIT, ['branch', 'x-other'], COMMIT, ...commands]) git(args);
  expect(readCommit(pathToFileURL(`${cwd}/.git/`))).toBe(git(['rev-parse', 'HEAD']));
});

it('the commit is unknown where there is no repository', async () => {
  expect(readCommit(pathToFileURL(`${await testDirectory()}/.git/`))).toBe('unknown');
});
