import { existsSync } from 'node:fs';
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { SCHEMA } from '../src/adapters/mongodb/schema/collection-plans.ts';
import { SCHEMA_VERSION as SQLITE_VERSION } from '../src/adapters/sqlite/schema.ts';
import { STORAGES } from '../src/main/config/storages.ts';
import { readDocument } from './support/document.ts';
import { findOnPath } from './support/mongod-binary.ts';
import { ROOT, run } from './support/process.ts';
import { testDirectory } from './support/test-directory.ts';

/** A linter for GitHub workflows, in a fixed version. The `go` command downloads and builds it once. */
const ACTIONLINT = 'github.com/rhysd/actionlint/cmd/actionlint@v1.7.7';

const changelog = await readDocument('CHANGELOG.md');
const paths = await Array.fromAsync(glob('.github/workflows/*.yaml', { cwd: ROOT }));
const workflows = await Promise.all(paths.map((path) => readFile(join(ROOT, path), 'utf8')));
/** Returns what the first group of a pattern matches in the workflows. */
const inWorkflows = (pattern: RegExp) => {
  return workflows.flatMap((text) => Array.from(text.matchAll(pattern), ([, part = '']) => part));
};

/** The sections of the releases, the newest first. */
const releases = Array.from(
  changelog.matchAll(/^## \[(.*?)\](?: - (\S*))?\n(.*?)(?=^## \[|$(?![\s\S]))/gms),
  ([, version = '', date, text = '']) => ({ version, date, text }),
);

// https://keepachangelog.com/en/1.1.0/
it('the changelog begins with the unreleased changes, and then has each release with its date, the newest first', () => {
  const [unreleased, ...released] = releases;
  expect(unreleased).toMatchObject({ version: 'Unreleased', date: undefined });
  for (const { version, date = '' } of released) {
    expect(version).toMatch(/^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}$/);
    expect(new Date(date).toISOString().slice(0, 10)).toBe(date);
  }
  const versions = released.map(({ version }) => version);
  expect(versions).toStrictEqual(
    [...new Set(versions)].toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true })),
  );
  const dates = released.map(({ date = '' }) => date);
  expect(dates).toStrictEqual(dates.toSorted().toReversed());
});

it('the changelog sorts the changes of each release into the six kinds of Keep a Changelog, and no kind is empty', () => {
  const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];
  for (const { version, text } of releases) {
    const [, ...parts] = text.split(/^### /m);
    const found = parts.map((part) => part.slice(0, part.indexOf('\n')));
    expect(found, version).toStrictEqual(kinds.filter((kind) => found.includes(kind)));
    for (const part of parts) expect(part, version).toMatch(/^\w+\n\n(- .*(\n {2}.*)*\n)+\n?$/);
  }
});

it('the changelog has a section for the version in package.json', () => {
  expect(releases.map(({ version }) => version)).toContain(packageJson.version);
});

it('the changelog names the schema versions of this build', () => {
  const [, versions] = /^Schema versions: (.*?)\./m.exec(releases.map(({ text }) => text).join('\n')) ?? [];
  expect(versions).toBe(`SQLite ${SQLITE_VERSION}, MongoDB ${SCHEMA.version}`);
});

it('the workflows pin every action by the hash of a commit, with its version beside it', () => {
  const pinned = /^(\.\/\S+|\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+)$/;
  expect(inWorkflows(/uses: (.*)$/gm).filter((used) => !pinned.test(used))).toStrictEqual([]);
});

it('the workflows call scripts of the package that exist', () => {
  const scripts = inWorkflows(/npm run (?:--silent )?([\w:-]+)/g);
  expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toStrictEqual([]);
});

it('npm run test:quick runs tests of folders that exist, and leaves out every storage but memory', () => {
  const script = packageJson.scripts['test:quick'];
  const folders = Array.from(script.matchAll(/ (test\/\w+)/g), ([, folder = '']) => folder);
  expect(folders).toStrictEqual(['test/domain', 'test/application', 'test/contracts']);
  for (const folder of folders) expect(existsSync(join(ROOT, folder)), folder).toBe(true);
  const [, excluded = ''] = /: \(([\w|]+)\)/.exec(script) ?? [];
  expect(['memory', ...excluded.split('|')].toSorted()).toStrictEqual(
    STORAGES.map(({ name }) => name).toSorted(),
  );
});

it('the workflows write the notes of a release from its section in the changelog', async () => {
  const [command = ''] = inWorkflows(/run: (sed .*CHANGELOG\.md) > notes\.md/g);
  const directory = await testDirectory();
  const released = changelog.replace('[Unreleased]', '[1.2.0] - 2027-01-01\n\n- x\n\n## [1.1.0]');
  await writeFile(join(directory, 'CHANGELOG.md'), released);
  const program = run('bash', ['-euc', command], { GITHUB_REF_NAME: 'v1.1.0' }, directory);
  expect(await program.succeeded()).toBe(releases[0]!.text);
});

it('actionlint finds no error in the workflows', async ({ skip }) => {
  const [command, ...args] =
    (await findOnPath('actionlint')) === undefined ? ['go', 'run', ACTIONLINT] : ['actionlint'];
  if ((await findOnPath(command)) === undefined) skip('neither actionlint nor go on PATH: install one');
  const found = run(command, [...args, '-version']);
  if ((await found.ended).code !== 0) skip(`actionlint cannot be fetched: ${found.stderr}`);
  const program = run(command, [...args, ...paths]);
  expect((await program.ended).code, program.stdout).toBe(0);
});
