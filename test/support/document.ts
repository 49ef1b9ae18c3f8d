import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './process.ts';

export type Block = { readonly section: string; readonly language: string; readonly text: string };

/** A document of this repository. */
export async function readDocument(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

/** The documents at these paths, in order of their paths. By default all of `docs`, in whatever folder. */
export async function readDocuments(patterns = ['docs/**/*.md']): Promise<ReadonlyMap<string, string>> {
  const paths = await Array.fromAsync(glob(patterns, { cwd: ROOT }));
  const texts = paths.toSorted().map(async (path) => [path, await readDocument(path)] as const);
  return new Map(await Promise.all(texts));
}

/** The code blocks of a document, each with the heading above it. */
export function blocksOf(document: string): readonly Block[] {
  let section = '';
  // A comment of a shell looks like a heading, so a block is one match. A block in a list is indented.
  const found = document.matchAll(/^#+ (.*)$|^( *)```(\w*)\n([^]*?)^\2```$/gm);
  return Array.from(found).flatMap(([, heading, indent = '', language = '', text = '']) => {
    section = heading ?? section;
    const block = { section, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
    return heading === undefined ? [block] : [];
  });
}

/** The cells of the rows of the first table below a heading, without those of its head. */
export function tableOf(document: string, section: string): readonly (readonly string[])[] {
  const [, text = ''] = document.split(new RegExp(`^#+ ${RegExp.escape(section)}$`, 'm'));
  const [table = ''] = /(?:^\|.*\n)+/m.exec(text.split(/^#+ /m)[0] ?? '') ?? [];
  const rows = table.trim().split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
