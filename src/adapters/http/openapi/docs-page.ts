import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { getAsset, isSea } from 'node:sea';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

export type PageFile = {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  /** A hash of the content. The URL contains this hash, so browsers may keep the file for ever. */
  readonly version: string;
};

export const FILE_NAMES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'docs.css', 'docs.js'] as const;

type FileName = (typeof FILE_NAMES)[number];

/** The HTML of the page, in which `{{name}}` stands for the URL of a file. */
export const TEMPLATE = 'index.html';

export type DocsPage = { readonly page: PageFile; readonly files: Readonly<Record<FileName, PageFile>> };

export async function loadDocsPage(): Promise<DocsPage> {
  const loaded = FILE_NAMES.map(
    async (name) =>
      [name, await pageFile(name.endsWith('css') ? 'css' : 'javascript', await readPageFile(name))] as const,
  );
  const files = Object.fromEntries(await Promise.all(loaded)) as Record<FileName, PageFile>;
  // The URLs are relative, because a proxy may serve the page below a path.
  const html = FILE_NAMES.reduce(
    (text, name) => text.replace(`{{${name}}}`, `docs/${name}?${files[name].version}`),
    String(await readPageFile(TEMPLATE)),
  );
  return { page: await pageFile('html', Buffer.from(html)), files };
}

/**
 * In a clone and in the npm package, `#page` is a folder: see `package.json`. The single executable has the files as
 * assets.
 */
async function readPageFile(name: FileName | typeof TEMPLATE): Promise<Buffer> {
  if (isSea()) return Buffer.from(getAsset(name));
  return readFile(createRequire(import.meta.url).resolve(`#page/${name}`));
}

async function pageFile(format: 'html' | 'css' | 'javascript', bytes: Buffer): Promise<PageFile> {
  const version = hash('sha256', bytes, 'base64url').slice(0, 12);
  return { type: `text/${format}; charset=utf-8`, bytes, gzipped: await promisify(gzip)(bytes), version };
}
