import { deepStrictEqual } from 'node:assert/strict';
import { cp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { petNameProblem } from '../../src/domain/pet.ts';
import { ask } from '../failure/ask.ts';
import { startService } from './service.ts';
import { shell } from './shell.ts';
import { ENV, WORK } from './tools.ts';

const TIMEOUT_MS = 300_000;

const CHARACTERS = ['', ...Array.from(' 7~/\\"é名🐈\u{10ffff}\u200b\u0000\t\n\u001f\u007f')];

const NAMES = [
  ...CHARACTERS.flatMap((character) => [character, `${character}Rex`, `Rex ${character}x`]),
  // Programming languages differ on whether these characters are white space.
  ...Array.from('\u0085\u00a0\u180e\u2028\u3000\ufeff', (character) => ` ${character}x `),
  'x'.repeat(255),
];
const ACCEPTED = NAMES.filter((name) => petNameProblem(name) === undefined);

/**
 * Runs a program that checks names with the pattern in the service's OpenAPI document, and compares its result with
 * ours.
 *
 * @param command runs in a folder with `openapi.json`, `names.json`, and the programs of the folder `names`
 * @throws {Error} when the program fails, or accepts other names than the service
 */
export async function judgeNames(program: string, command: string): Promise<void> {
  await using service = await startService();
  const cwd = join(WORK, program);
  await rm(cwd, { recursive: true, force: true });
  await cp(join(import.meta.dirname, 'names'), cwd, { recursive: true });
  await writeFile(join(cwd, 'openapi.json'), (await ask(`${service.url}/openapi.json`)).body);
  await writeFile(join(cwd, 'names.json'), JSON.stringify(NAMES));
  deepStrictEqual(JSON.parse(await shell(command, { cwd, env: ENV, timeoutMs: TIMEOUT_MS })), ACCEPTED);
}
