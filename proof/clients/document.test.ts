import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { ask, KEY } from '../../test/support/client.ts';
import { blocksOf, readDocument } from '../../test/support/document.ts';
import { startService } from '../../test/support/service.ts';
import { GENERATORS } from './generators.ts';

const document = await readDocument('docs/how-to/write-a-client.md');

it('the page about clients has a block for each language, which npm run test:clients runs', () => {
  const commands = blocksOf(document).filter(({ language }) => language === 'sh');
  const run = Object.values(GENERATORS).flatMap((each) => ('heading' in each ? [each.heading] : []));
  expect(run).toStrictEqual(['curl', 'TypeScript', 'Python', 'Go', 'Java']);
  expect(commands.map(({ section }) => section)).toStrictEqual(['Run one', ...run, 'Other generators']);
});

it.each(Object.entries(GENERATORS))('shows how %s is called', (_name, generator) => {
  const { generate = '' } = 'heading' in generator ? {} : generator;
  // The document may break the line.
  expect(document.replaceAll(/ \\\n +/g, ' ')).toContain(generate);
});

it('the feed of the page shows every animal once: of two pages, and one that is added later', async () => {
  const url = `${(await startService()).url}/v1`;
  const add = () => ask(`${url}/pets`, { body: '{"name":"Rex","categoryId":7}' });
  await Promise.all(Array.from({ length: 101 }, add));
  const block = blocksOf(document).find(({ language }) => language === 'js')?.text;
  const globals = { URLSearchParams, Response, fetch, setTimeout: setImmediate };
  const follow = runInNewContext(`(${block})`, globals) as (...args: readonly unknown[]) => Promise<never>;
  const seen: number[] = [];
  const enough = new Error('enough');

  const following = follow(url, KEY, async ({ id }: { readonly id: number }) => {
    seen.push(id);
    if (id === 101) await add();
    if (id === 102) throw enough;
  });

  await expect(following).rejects.toBe(enough);
  expect(seen).toStrictEqual(Array.from({ length: 102 }, (_, index) => index + 1));
});
