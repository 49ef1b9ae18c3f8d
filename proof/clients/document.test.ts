import { expect, it } from 'vitest';
import { blocksOf, readDocument } from '../../test/support/document.ts';
import { GENERATORS } from './generators.ts';

const document = await readDocument('docs/clients.md');

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
