import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { blocksOf, readDocument } from '../support/document.ts';
import { DONE, run } from '../support/process.ts';
import { freshClone, Shell } from '../support/shell.ts';

const blocks = blocksOf(await readDocument('docs/guide/a-first-day.md'));

/** Returns the commands of a section, and the outputs that the page shows. */
function partsOf(section: string) {
  const sectionBlocks = blocks.filter((block) => block.section === section && block.language !== 'mermaid');
  const texts = (isCommand: boolean) =>
    sectionBlocks.filter(({ language }) => (language === 'sh') === isCommand).map(({ text }) => text);
  return { commands: texts(true), shown: texts(false) };
}

it('the commands of A first day work from top to bottom in one shell, and print what the page shows', async () => {
  const directory = await freshClone();
  const before = await readdir(directory);
  const shell = new Shell(directory);
  const first = partsOf('Start the service');
  const request = await shell.starts(first.commands[0]!);
  const [, made = '', url = ''] = /Bearer (\S+)' '(\S+)\/v1\/pets'/.exec(request) ?? [];
  expect(request.replace(made, 'pets_…').replace(url, 'http://127.0.0.1:3000')).toBe(first.shown[0]);
  expect(`${await shell.prints(request)}\n`).toBe(first.shown[1]);

  const created = partsOf('Create a key');
  const list = await shell.prints(created.commands[0]!.replace('http://127.0.0.1:3000', url));
  // Dates and the id are replaced, because they differ from those on the page.
  const form = (text: string) => text.replaceAll(/[0-9a-f]{16}|\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '…');
  expect(form(list)).toBe(form(created.shown[0]!));

  for (const section of ['Add a first pet', 'Read a page of pets', 'See an error', 'Make a backup']) {
    const { commands, shown } = partsOf(section);
    for (const [n, text] of commands.entries()) expect(await shell.prints(text)).toBe(shown[n]);
  }

  const copy = partsOf('Restore a copy');
  expect(await shell.prints(copy.commands[0]!)).toBe(copy.shown[0]);
  const listening = await shell.starts(copy.commands[1]!, '"listening on ');
  const [copyUrl = ''] = /http:[^ ]+/.exec(listening) ?? [];
  const asked = await shell.prints(copy.commands[2]!.replace('http://127.0.0.1:3001', copyUrl));
  expect(asked).toBe(copy.shown[1]);

  const { commands, shown } = partsOf('The end');
  const [revoke, repeat, remove] = commands;
  await shell.prints(revoke!);
  await expect.poll(() => shell.prints(repeat!)).toBe(shown[0]);
  expect(await shell.prints(repeat!.replace('$URL', '$COPY'))).toContain('"id":1,');
  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);
  await run('bash', ['-c', remove!], {}, directory).succeeded();
  expect(await readdir(directory)).toStrictEqual(before);
});
