import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from './process.ts';

export type Block = { readonly section: string; readonly language: string; readonly text: string };

/** A document of this repository. */
export async function readDocument(path: string): Promise<string> {
  return readFile(join(ROOT, path), 'utf8');
}

/** The code blocks of a document, each with the heading above it. */
export function blocksOf(document: string): readonly Block[] {
  return document.split(/^#+ /m).flatMap((part) => {
    const section = part.slice(0, part.indexOf('\n'));
    const found = part.matchAll(/^```(\w+)\n(.*?)^```$/gms);
    return Array.from(found, ([, language = '', text = '']) => ({ section, language, text }));
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
