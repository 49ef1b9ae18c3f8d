import { readdir } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { blocksOf, readDocument } from '../support/document.ts';
import { DONE, run } from '../support/process.ts';
import { freshClone, Shell } from '../support/shell.ts';

const blocks = blocksOf(await readDocument('docs/guide/a-first-day.md'));

/** Returns the commands of a section, and the outputs that the page shows for these commands. */
function partsOf(section: string) {
  const sectionBlocks = blocks.filter((block) => block.section === section && block.language !== 'mermaid');
  const texts = (isCommand: boolean) =>
    sectionBlocks.filter(({ language }) => (language === 'sh') === isCommand).map(({ text }) => text);
  return { commands: texts(true), outputs: texts(false) };
}

it('the commands of the guide "A first day" work from top to bottom in one shell and print what the page shows', async () => {
  const directory = await freshClone();
  const before = await readdir(directory);
  const shell = new Shell(directory);
  const start = partsOf('Start the service');
  const request = await shell.starts(start.commands[0]!);
  const [, printedKey = '', url = ''] = /Bearer (\S+)' '(\S+)\/v1\/pets'/.exec(request) ?? [];
  expect(request.replace(printedKey, 'pets_…').replace(url, 'http://127.0.0.1:3000')).toBe(start.outputs[0]);
  expect(`${await shell.prints(request)}\n`).toBe(start.outputs[1]);

  const keyCreation = partsOf('Create a key');
  const list = await shell.prints(keyCreation.commands[0]!.replace('http://127.0.0.1:3000', url));
  // Dates and the id are replaced, because they differ from those on the page.
  const normalize = (text: string) => text.replaceAll(/[0-9a-f]{16}|\d{4}-\d\d-\d\dT\d\d:\d\dZ/g, '…');
  expect(normalize(list)).toBe(normalize(keyCreation.outputs[0]!));

  for (const section of ['Add a first pet', 'Read a page of pets', 'See an error', 'Make a backup']) {
    const { commands, outputs } = partsOf(section);
    for (const [n, text] of commands.entries()) expect(await shell.prints(text)).toBe(outputs[n]);
  }

  const copyParts = partsOf('Restore a copy');
  expect(await shell.prints(copyParts.commands[0]!)).toBe(copyParts.outputs[0]);
  const listening = await shell.starts(copyParts.commands[1]!, '"listening on ');
  const [copyUrl = ''] = /http:[^ ]+/.exec(listening) ?? [];
  const page = await shell.prints(copyParts.commands[2]!.replace('http://127.0.0.1:3001', copyUrl));
  expect(page).toBe(copyParts.outputs[1]);

  const { commands, outputs } = partsOf('The end');
  const [revoke, repeat, remove] = commands;
  await shell.prints(revoke!);
  // A service may accept a revoked key for some seconds, because it remembers valid keys.
  await expect.poll(() => shell.prints(repeat!)).toBe(outputs[0]);
  // The second service still accepts the key, because its database is a copy in which the key is not revoked.
  expect(await shell.prints(repeat!.replace('$URL', '$COPY'))).toContain('"id":1,');
  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);
  await run('bash', ['-c', remove!], {}, directory).succeeded();
  expect(await readdir(directory)).toStrictEqual(before);
});
