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

/** Removes what differs from run to run: colours, spaces, and the digits of counts and durations. */
function form(text: string): string {
  return stripVTControlCharacters(text).trim().replaceAll(/\d+/g, '0').replaceAll(/ +/g, ' ');
}

/** Expects the output that a block shows: some of the lines if the block is a `console`, otherwise the whole output. */
function expectShown(printed: string, { language, text }: Omit<Block, 'section'>): void {
  const isWhole = language !== 'console';
  const shown = isWhole ? [text] : text.trim().split('\n').map(form);
  const found = isWhole ? [printed] : shown.filter((line) => form(printed).includes(line));
  expect(found).toStrictEqual(shown);
}

it('the storage that the guide builds passes the contracts, fails them after the fault of the guide, and serves requests', async () => {
  const directory = await testDirectory();
  for (const name of [...FOLDERS, ...FILES]) {
    await cp(join(ROOT, name), join(directory, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const shell = new Shell(directory);
  let printed = '';
  let url = '';

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
