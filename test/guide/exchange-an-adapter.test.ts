import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { type Block, blocksOf, readDocument } from '../support/document.ts';
import { DONE, ROOT } from '../support/process.ts';
import { Shell } from '../support/shell.ts';
import { testDirectory } from '../support/test-directory.ts';

const blocks = blocksOf(await readDocument('docs/guide/exchange-an-adapter.md'));

/** The folders and files that the page changes, or that its commands need. */
const FOLDERS = ['bin', 'proof', 'scripts', 'src', 'test'];
const FILES = ['openapi.json', 'package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'];

/** Replaces what differs from run to run: colours, spaces, and the digits of counts and durations. */
function normalize(text: string): string {
  return stripVTControlCharacters(text).trim().replaceAll(/\d+/g, '0').replaceAll(/ +/g, ' ');
}

/** Expects that a block shows the printed output. A `console` block shows only some of its lines. */
function expectShown(printed: string, { language, text }: Omit<Block, 'section'>): void {
  const isWhole = language !== 'console';
  const shown = isWhole ? [text] : text.trim().split('\n').map(normalize);
  const found = isWhole ? [printed] : shown.filter((line) => normalize(printed).includes(line));
  expect(found).toStrictEqual(shown);
}

it('the storage of the guide passes the contract tests, fails them with the added fault, and serves requests', async () => {
  const directory = await testDirectory();
  for (const name of [...FOLDERS, ...FILES]) {
    await cp(join(ROOT, name), join(directory, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const shell = new Shell(directory);
  let printed = '';
  let url = '';

  // A `typescript` block is a new file, which the heading names. A `diff` block changes the sources. An `sh` block is
  // run. Another block shows what the last commands printed.
  for (const { section, language, text } of blocks) {
    if (language === 'typescript') {
      const [, name = ''] = /`(.*)`/.exec(section) ?? [];
      await writeFile(join(directory, 'src/adapters/json-file', name), text);
    } else if (language === 'diff') await shell.prints(`git apply <<'END'\n${text}END`);
    else if (text.endsWith('npm start\n')) [url = ''] = /http:\/\/[^/]+/.exec(await shell.starts(text))!;
    else if (language === 'sh') printed = await shell.prints(text.replace('http://127.0.0.1:3000', url));
    else if (language !== 'mermaid') expectShown(printed, { language, text });
  }

  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);
});
