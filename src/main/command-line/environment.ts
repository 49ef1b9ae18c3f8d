import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { UsageError } from '../program/failures.ts';
import type { Env } from '../program/process.ts';

/**
 * The file adds the variables that are absent or empty in the environment.
 *
 * @throws {UsageError} when the file cannot be read, or one of its lines sets no variable
 */
export function withEnvFile(env: Env, path: string): Env {
  const refusal = (problem: string) => new UsageError(`the file of --env ${problem}: ${path}`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw refusal(error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${error.message}`);
  }
  if (!isUtf8(bytes) || bytes.includes(0)) throw refusal('must be UTF-8; some editors write UTF-16');
  // A byte order mark would become a part of the first name.
  const text = bytes.toString().replace(/^\uFEFF/, '');
  // Empties comments and quoted values, because a quoted value may have several lines.
  const emptiedText = text.replaceAll(COMMENT_OR_QUOTED, (part) => part.replaceAll(/[^=\r\n]/g, ''));
  const lineIndex = emptiedText
    .split(/\r?\n/)
    .findIndex((line) => !/^\s*(?:#.*|(?:export\s+)?[^\s=]+\s*=.*)?$/.test(line));
  if (lineIndex >= 0) throw refusal(`sets no variable in line ${lineIndex + 1}, which must be NAME=VALUE`);
  const setVariables = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...parseEnv(text), ...Object.fromEntries(setVariables) };
}

const COMMENT_OR_QUOTED = /^[^\S\n]*#.*$|=[^\S\n]*(["'`])[^]*?\1/gm;
