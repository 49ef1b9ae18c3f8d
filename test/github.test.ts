import { glob } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import packageJson from '../package.json' with { type: 'json' };
import { describeVariables } from '../src/main/config/variables.ts';
import { readDocument } from './support/document.ts';
import { ROOT } from './support/process.ts';

const FORMS = await Array.fromAsync(glob('.github/ISSUE_TEMPLATE/*.yml', { cwd: ROOT }));

// https://docs.github.com/en/communities/using-templates-to-encourage-useful-issues-and-pull-requests/syntax-for-githubs-form-schema
it.each(FORMS)('%s is a form with all required fields, and names only existing documents', async (path) => {
  const text = await readDocument(path);
  const question = {
    type: expect.stringMatching(/^(input|textarea)$/),
    attributes: { label: expect.any(String) },
  };
  const { name, description, body } = parse(text);
  expect({ name, description }).toStrictEqual({ name: expect.any(String), description: expect.any(String) });
  const questions = body.filter(({ type }: { type: string }) => type !== 'markdown');
  // A form must have at least one question.
  expect(questions).toMatchObject([question, ...questions.slice(1).map(() => question)]);
  for (const [document] of text.matchAll(/\w+\.md/g))
    await expect(readDocument(document)).resolves.not.toBe('');
});

it('the development container has the Node version of package.json, and forwards the default port', async () => {
  const text = await readDocument('.devcontainer/devcontainer.json');
  const { image, forwardPorts } = JSON.parse(text.replaceAll(/^ *\/\/.*$/gm, ''));
  expect(`>=${image.replace('node:', '')}`).toBe(packageJson.engines.node);
  expect(describeVariables()).toMatch(new RegExp(`^  PORT +${forwardPorts} `, 'm'));
});
