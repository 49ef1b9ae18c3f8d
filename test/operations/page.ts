import { type Block, blocksOf, readDocument } from '../support/document.ts';
import { type Program, run } from '../support/process.ts';

const page = await readDocument('docs/operations.md');

/** The code blocks of `docs/operations.md`. */
export const BLOCKS: readonly Block[] = blocksOf(page);

/** @param index counts the blocks of this language in the section, from 0 */
export function blockOf(section: string, index = 0, language = 'sh'): string {
  const found = BLOCKS.filter((block) => block.section === section && block.language === language)[index];
  if (found === undefined) throw new Error(`the section "${section}" has no ${language} block ${index}`);
  return found.text;
}

/** Runs commands of the page unchanged. */
export function bash(commands: string, env: Readonly<Record<string, string>>, cwd: string): Program {
  return run('bash', ['-euo', 'pipefail', '-c', commands], { PORT: '0', ...env }, cwd);
}
