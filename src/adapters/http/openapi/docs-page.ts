import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { getAsset, isSea } from 'node:sea';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { apiRules } from './api-rules.ts';

/** A file of the docs page, as it is sent. */
export type PageFile = {
  /** The media type. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  /** Names the content. Part of the URL: browsers may keep the file for ever. */
  readonly version: string;
};

const CSS = 'text/css; charset=utf-8';
const JAVASCRIPT = 'text/javascript; charset=utf-8';

/** The media types of what the page loads, by name. */
const TYPES = {
  'swagger-ui.css': CSS,
  'swagger-ui-bundle.js': JAVASCRIPT,
  'docs.css': CSS,
  'docs.js': JAVASCRIPT,
};

export type FileName = keyof typeof TYPES;
export const FILE_NAMES = Object.keys(TYPES) as readonly FileName[];

export type DocsPage = { readonly page: PageFile; readonly files: Readonly<Record<FileName, PageFile>> };

/**
 * Reads and compresses the interactive page of the API and its files.
 *
 * @throws {Error} when a file cannot be read
 */
export async function loadDocsPage(): Promise<DocsPage> {
  const loaded = FILE_NAMES.map(
    async (name) => [name, await pageFile(TYPES[name], await read(name))] as const,
  );
  const files = Object.fromEntries(await Promise.all(loaded)) as Record<FileName, PageFile>;
  const html = pageHtml((name) => `docs/${name}?${files[name].version}`);
  return { page: await pageFile('text/html; charset=utf-8', Buffer.from(html)), files };
}

/** The package.json says where the files are, in a clone and in the npm package. The single executable contains them. */
async function read(name: FileName): Promise<Buffer> {
  if (isSea()) return Buffer.from(getAsset(name));
  return readFile(createRequire(import.meta.url).resolve(`#page/${name}`));
}

async function pageFile(type: string, bytes: Buffer): Promise<PageFile> {
  const version = hash('sha256', bytes, 'base64url').slice(0, 12);
  return { type, bytes, gzipped: await promisify(gzip)(bytes), version };
}

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><text y="13" font-size="13">🐾</text></svg>';

/** URLs are relative: a proxy may serve the page below a path. */
function pageHtml(urlOf: (name: FileName) => string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Petstore API</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(ICON)}">
<link rel="stylesheet" href="${urlOf('swagger-ui.css')}">
<link rel="stylesheet" href="${urlOf('docs.css')}">
<script src="${urlOf('swagger-ui-bundle.js')}" defer></script>
<script src="${urlOf('docs.js')}" type="module"></script>
</head>
<body>
<header>
<h1>Petstore API</h1>
<p>A catalogue of animals: list them, add one, get one. Press Authorize and paste an API key to try the operations.
Below them are <a href="#rules">the rules</a>. Programs read <a href="openapi.json">openapi.json</a>.</p>
<h2>Operations</h2>
</header>
<div id="swagger-ui"><noscript>The operations need JavaScript. They are all in openapi.json.</noscript></div>
<section class="rules" id="rules" aria-labelledby="rules-title">
<h2 id="rules-title">Rules of every operation</h2>
${apiRules()}
</section>
</body>
</html>
`;
}
