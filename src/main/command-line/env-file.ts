import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { InvalidConfig } from '../config/config.ts';

type Env = Readonly<Record<string, string | undefined>>;

/**
 * The environment, and the variables of a file that it leaves out or leaves empty.
 *
 * @throws {InvalidConfig} when the file cannot be read
 */
export function withEnvFile(env: Env, path: string): Env {
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...parseEnv(read(path)), ...Object.fromEntries(given) };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    const problem = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`;
    throw new InvalidConfig([`the file of --env-file ${problem}: ${path}`]);
  }
}
