import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { ask, KEY } from '../../test/support/client.ts';
import { blocksOf, readDocument } from '../../test/support/document.ts';
import { startService } from '../../test/support/service.ts';
import { GENERATORS } from './generators.ts';

const document = await readDocument('examples/clients/README.md');

it('npm run test:clients runs the block of each language in examples/clients/README.md', () => {
  const commands = blocksOf(document).filter(({ language }) => language === 'sh');
  const run = Object.values(GENERATORS).flatMap((each) => ('heading' in each ? [each.heading] : []));
  expect(run).toStrictEqual(['curl', 'TypeScript', 'Python', 'Go', 'Java']);
  expect(commands.map(({ section }) => section)).toStrictEqual(['Run one', ...run, 'Other generators']);
});

it.each(Object.entries(GENERATORS))('the page about clients shows how to generate %s', (_name, generator) => {
  const { generate = '' } = 'heading' in generator ? {} : generator;
  // The document may break a command into several lines.
  expect(document.replaceAll(/ \\\n +/g, ' ')).toContain(generate);
});

const block = blocksOf(document).find(({ language }) => language === 'js')?.text;
const globals = { URLSearchParams, Response, fetch, setTimeout: setImmediate };
const follow = runInNewContext(`(${block})`, globals) as (...args: readonly unknown[]) => Promise<never>;

it('the feed in that document yields every animal of two result pages once, and an animal that is added later', async () => {
  const url = `${(await startService()).url}/v1`;
  const add = () => ask(`${url}/pets`, { body: '{"name":"Rex","categoryId":7}' });
  await Promise.all(Array.from({ length: 101 }, add));
  const ids: number[] = [];
  const lastAnimal = new Error('the last animal');

  const following = follow(url, KEY, async ({ id }: { readonly id: number }) => {
    ids.push(id);
    if (id === 101) await add();
    if (id === 102) throw lastAnimal;
  });

  await expect(following).rejects.toBe(lastAnimal);
  expect(ids).toStrictEqual(Array.from({ length: 102 }, (_, index) => index + 1));
});

it('the feed on the page repeats a request after a 502 and a 504, skips a damaged animal, and fails at a 401', async () => {
  const requestUrls: (string | undefined)[] = [];
  const answers = [
    { status: 502 },
    { status: 504 },
    { status: 503, headers: { 'Next-Cursor': 'past-1' } },
    { status: 200, body: '[{"id":2}]' },
    { status: 401, body: 'no key' },
  ];
  const server = createServer((request, response) => {
    const { status, headers, body } = answers[requestUrls.push(request.url) - 1]!;
    response.writeHead(status, headers).end(body);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ids: number[] = [];
  const following = follow(`http://127.0.0.1:${port}`, KEY, ({ id }: { readonly id: number }) =>
    ids.push(id),
  );

  await expect(following).rejects.toMatchObject({ message: 'no key' });
  expect(ids).toStrictEqual([2]);
  const [first, next] = ['/pets?limit=100', '/pets?limit=100&cursor=past-1'];
  expect(requestUrls).toStrictEqual([first, first, first, next, next]);
});
