import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Block, blocksOf, readDocuments } from '../support/document.ts';
import { type Program, ROOT, run } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

const documents = await readDocuments();
const BLOCKS: readonly Block[] = [...documents.values()].flatMap(blocksOf);

/**
 * Returns a block of code of the documents in `docs`.
 *
 * @param index the number of the block, from 0, among the blocks of this language below headings with this text
 */
export function blockOf(section: string, index = 0, language = 'sh'): string {
  const found = BLOCKS.filter((block) => block.section === section && block.language === language)[index];
  if (found === undefined) throw new Error(`the section "${section}" has no ${language} block ${index}`);
  return found.text;
}

/** Creates a directory with `petstore` in `commands`, for `PATH`, and with the folder `data` for the database. */
export async function installation(): Promise<string> {
  const path = await testDirectory();
  for (const folder of ['commands', 'data']) await mkdir(join(path, folder));
  await symlink(join(ROOT, 'bin/petstore'), join(path, 'commands/petstore'));
  return path;
}

/** Runs commands of a document as they are written there. */
export function bash(commands: string, env: Readonly<Record<string, string>>, directory: string): Program {
  const PATH = `${join(directory, 'commands')}:${process.env['PATH']}`;
  return run('bash', ['-euo', 'pipefail', '-c', commands], { PORT: '0', PATH, ...env }, directory);
}
