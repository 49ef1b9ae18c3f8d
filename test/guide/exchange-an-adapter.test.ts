import { cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { type Block, blocksOf, readDocument } from '../support/document.ts';
import { DONE, ROOT } from '../support/process.ts';
import { Shell } from '../support/shell.ts';
import { testDirectory } from '../support/test-directory.ts';

const blocks = blocksOf(await readDocument('docs/guide/exchange-an-adapter.md'));

/** What the page changes, and what its commands need. */
const FOLDERS = ['bin', 'proof', 'scripts', 'src', 'test'];
const FILES = ['openapi.json', 'package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts'];

/** Colours, counts, durations and spaces differ from run to run. */
function form(text: string): string {
  return stripVTControlCharacters(text).trim().replaceAll(/\d+/g, '0').replaceAll(/ +/g, ' ');
}

/** A page shows some lines of what a `console` prints, and otherwise all of it. */
function expectShown(printed: string, { language, text }: Omit<Block, 'section'>): void {
  const hasAll = language !== 'console';
  const shown = hasAll ? [text] : text.trim().split('\n').map(form);
  const found = hasAll ? [printed] : shown.filter((line) => form(printed).includes(line));
  expect(found).toStrictEqual(shown);
}

it('the storage of the guide keeps the contracts, notices a fault, and serves requests', async () => {
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
