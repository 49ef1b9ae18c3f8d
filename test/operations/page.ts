import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Block, blocksOf, readDocuments } from '../support/document.ts';
import { type Program, ROOT, run } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

const documents = await readDocuments();
const ALL_BLOCKS: readonly Block[] = [...documents.values()].flatMap(blocksOf);

/**
 * Returns a block of code of the documents in `docs`.
 *
 * @param section the text of the heading above the block
 * @param index 0 for the first block of this language in the section, 1 for the second
 */
export function blockOf(section: string, index = 0, language = 'sh'): string {
  const found = ALL_BLOCKS.filter((block) => block.section === section && block.language === language)[index];
  if (found === undefined) throw new Error(`the section "${section}" has no ${language} block ${index}`);
  return found.text;
}

/**
 * Creates a directory that stands for a machine with an installed service. The folder `commands` has the command
 * `petstore`, and {@link bash} puts the folder on the PATH. The folder `data` is for the database.
 */
export async function installation(): Promise<string> {
  const path = await testDirectory();
  for (const folder of ['commands', 'data']) await mkdir(join(path, folder));
  await symlink(join(ROOT, 'bin/petstore'), join(path, 'commands/petstore'));
  return path;
}

/** Runs commands of a document in `directory`, without changes. A command that fails ends the run. */
export function bash(commands: string, env: Readonly<Record<string, string>>, directory: string): Program {
  const PATH = `${join(directory, 'commands')}:${process.env['PATH']}`;
  return run('bash', ['-euo', 'pipefail', '-c', commands], { PORT: '0', PATH, ...env }, directory);
}
