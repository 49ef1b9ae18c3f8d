import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './process.ts';

/** A code block of a document. `section` is the text of the last heading above the block. */
export type Block = { readonly section: string; readonly language: string; readonly text: string };

/** Reads a document of this repository. `path` is relative to the root of the repository. */
export async function readDocument(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

/** Reads the documents that match these patterns, sorted by path. The default is all of `docs` and its subfolders. */
export async function readDocuments(patterns = ['docs/**/*.md']): Promise<ReadonlyMap<string, string>> {
  const paths = await Array.fromAsync(glob(patterns, { cwd: ROOT }));
  const texts = paths.toSorted().map(async (path) => [path, await readDocument(path)] as const);
  return new Map(await Promise.all(texts));
}

export function blocksOf(document: string): readonly Block[] {
  let section = '';
  // A comment of a shell script in a block looks like a heading. Each block is therefore matched as a whole. A block in
  // a list is indented.
  const matches = document.matchAll(/^#+ (.*)$|^( *)```(\w*)\n([^]*?)^\2```$/gm);
  return Array.from(matches).flatMap(([, heading, indent = '', language = '', text = '']) => {
    section = heading ?? section;
    const block = { section, language, text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), '') };
    return heading === undefined ? [block] : [];
  });
}

/** The rows of the first table below a heading, each as a list of its cells. The header row is left out. */
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
