import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { getAsset, isSea } from 'node:sea';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import { type Scope, SCOPES } from '../../../domain/api-key.ts';
import { INT64_MAX, INT64_MIN } from '../../../domain/pet.ts';
import { ERROR_STATUS, type ErrorCode } from '../contract/errors.ts';
import * as limits from '../contract/limits.ts';
import { CODE_MEANING } from './answers.ts';

/** A file of the docs page, as it is sent. */
export type PageFile = {
  /** The media type. */
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  /** Names the content. Part of the URL: browsers may keep the file for ever. */
  readonly version: string;
};

/** What the page loads. */
export const FILE_NAMES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'docs.css', 'docs.js'] as const;

type FileName = (typeof FILE_NAMES)[number];

/** The page, with `{{names}}` of what it gets from the program. */
export const TEMPLATE = 'index.html';

export type DocsPage = { readonly page: PageFile; readonly files: Readonly<Record<FileName, PageFile>> };

/**
 * Reads and compresses the interactive page of the API and its files.
 *
 * @throws {Error} when a file cannot be read
 */
export async function loadDocsPage(): Promise<DocsPage> {
  const loaded = FILE_NAMES.map(
    async (name) =>
      [name, await pageFile(name.endsWith('css') ? 'css' : 'javascript', await read(name))] as const,
  );
  const files = Object.fromEntries(await Promise.all(loaded)) as Record<FileName, PageFile>;
  // Relative: a proxy may serve the page below a path.
  const urls = FILE_NAMES.map((name): [string, string] => [name, `docs/${name}?${files[name].version}`]);
  const values = new Map([...urls, ...Object.entries(VALUES)]);
  const html = String(await read(TEMPLATE)).replaceAll(/\{\{([\w.-]+)\}\}/g, (_, name: string) =>
    String(values.get(name)),
  );
  return { page: await pageFile('html', Buffer.from(html)), files };
}

/** The package.json says where the files are, in a clone and in the npm package. The single executable contains them. */
async function read(name: FileName | typeof TEMPLATE): Promise<Buffer> {
  if (isSea()) return Buffer.from(getAsset(name));
  return readFile(createRequire(import.meta.url).resolve(`#page/${name}`));
}

async function pageFile(format: 'html' | 'css' | 'javascript', bytes: Buffer): Promise<PageFile> {
  const version = hash('sha256', bytes, 'base64url').slice(0, 12);
  return { type: `text/${format}; charset=utf-8`, bytes, gzipped: await promisify(gzip)(bytes), version };
}

const KIB = 1024;
const SECOND_MS = 1_000;

const SCOPE_MEANING: WhilePetsNeverChange<Record<Scope, string>> = {
  'pets:read': 'Listing animals and getting one',
  'pets:write': 'Adding animals',
};

const VALUES = {
  allScopes: SCOPES.join(','),
  scopes: rows(SCOPES.map((scope) => [`\`${scope}\``, SCOPE_MEANING[scope]])),
  errors: rows(
    Object.entries(ERROR_STATUS).map(([code, status]) => [
      status,
      `\`${code}\``,
      CODE_MEANING[code as ErrorCode],
    ]),
  ),
  int64Min: INT64_MIN,
  int64Max: INT64_MAX,
  urlKib: limits.MAX_URL_BYTES / KIB,
  headersKib: limits.MAX_HEADERS_BYTES / KIB,
  bodyKib: limits.MAX_BODY_BYTES / KIB,
  headersSeconds: limits.HEADERS_TIMEOUT_MS / SECOND_MS,
  requestSeconds: limits.REQUEST_TIMEOUT_MS / SECOND_MS,
  requestIdLength: limits.MAX_REQUEST_ID_LENGTH,
};

/** The rows of a table as HTML. Backticks mark code. */
function rows(cells: readonly (readonly (string | number)[])[]): string {
  const html = cells.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n');
  return html.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
