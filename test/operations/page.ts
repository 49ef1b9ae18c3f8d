import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Block, blocksOf, readDocument } from '../support/document.ts';
import { type Program, ROOT, run } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

const page = await readDocument('docs/operations.md');

/** The code blocks of `docs/operations.md`. */
export const BLOCKS: readonly Block[] = blocksOf(page);

/** @param index counts the blocks of this language in the section, from 0 */
export function blockOf(section: string, index = 0, language = 'sh'): string {
  const found = BLOCKS.filter((block) => block.section === section && block.language === language)[index];
  if (found === undefined) throw new Error(`the section "${section}" has no ${language} block ${index}`);
  return found.text;
}

/** A directory with `petstore` installed, as a container has it too, and with a folder for the database. */
export async function installation(): Promise<string> {
  const path = await testDirectory();
  for (const folder of ['commands', 'data']) await mkdir(join(path, folder));
  await symlink(join(ROOT, 'bin/petstore'), join(path, 'commands/petstore'));
  return path;
}

/** Runs commands of the page unchanged. */
export function bash(commands: string, env: Readonly<Record<string, string>>, directory: string): Program {
  const PATH = `${join(directory, 'commands')}:${process.env['PATH']}`;
  return run('bash', ['-euo', 'pipefail', '-c', commands], { PORT: '0', PATH, ...env }, directory);
}
