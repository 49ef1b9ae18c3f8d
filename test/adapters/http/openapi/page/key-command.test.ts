import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadDocsPage } from '../../../../../src/adapters/http/openapi/docs-page.ts';
import { SCOPES } from '../../../../../src/domain/api-key.ts';
import { runCommand } from '../../../../support/command.ts';
import { testDirectory } from '../../../../support/test-directory.ts';

it('the command on the page at /docs creates a key with every scope', async () => {
  const { page } = await loadDocsPage();
  const [, html = ''] = /<code id="key-command">bin\/petstore (.*?)<\/code>/.exec(String(page.bytes)) ?? [];
  const env = { DATABASE_URL: `sqlite:${join(await testDirectory(), 'petstore.db')}` };
  await runCommand(html.replaceAll(/<\/?span>/g, '').split(' '), env);
  const keys = JSON.parse((await runCommand(['keys', 'list', '--json'], env)).stdout);
  expect(keys).toMatchObject([{ label: 'docs', scopes: SCOPES }]);
});
