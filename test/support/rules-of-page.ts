import { loadDocsPage } from '../../src/adapters/http/openapi/docs-page.ts';

/** The rules on the page at `/docs`, as HTML without line breaks. */
export async function rulesOfPage(): Promise<string> {
  const { page } = await loadDocsPage();
  const [, rules = ''] = page.bytes.toString().split('<h2 id="rules-title">');
  return rules.replaceAll(/>\n+</g, '><').replaceAll('\n', ' ');
}
