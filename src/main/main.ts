#!/usr/bin/env node
import { parseArgs } from 'node:util';
import type { PetFileError } from '../adapters/ndjson/pet-file-error.ts';
import type { ApiKeyError, DamagedApiKey } from '../application/keys/errors.ts';
import type { ArchiveError } from '../application/moving/errors.ts';
import type { DamagedPet } from '../application/pets/errors.ts';
import type { StorageSetupError, StorageUnavailable } from '../application/ports/storage-errors.ts';
import { type OutputError, print } from './command-line/print.ts';
import { InvalidConfig, readConfig } from './config/config.ts';
import { describeVariables } from './config/variables.ts';
import { serve } from './service/serve.ts';
import { UsageError } from './command-line/usage-error.ts';

const USAGE = `petstore: a catalogue of animals behind a JSON HTTP API

Usage:
  npm start                        run the service
  npm run petstore -- keys         make, list, rotate and revoke API keys
  npm run petstore -- migrate      bring the schema of a MongoDB database up to date
  npm run petstore -- export       write all pets to a file
  npm run petstore -- import       bring the pets of a file into a storage
  npm run petstore -- copy         copy all pets and API keys from one storage to another
  npm run petstore -- --help       show this; after keys, export, import or copy more of that

The exit code is 0 when it is done, 1 when it was refused or has failed, 2 when the command line is wrong.

Variables, each with its default; an empty one counts as not set:
${describeVariables()}
`;

async function migrate(): Promise<void> {
  const { storage } = readConfig(process.env);
  if (!storage.persistent || storage.migrate === undefined) {
    throw new InvalidConfig(['DATABASE_URL must be mongodb://HOST/DATABASE to migrate']);
  }
  const { database, from, to } = await storage.migrate();
  const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
  await print(`the database "${database}" has schema version ${to} (${before})\n`);
}

const COMMANDS: Readonly<Record<string, () => Promise<void>>> = { serve, migrate };

async function main(): Promise<void> {
  // Of standard output the caller of write() learns it too; what standard error does not take can be told nowhere.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
  const [first = '', ...others] = process.argv.slice(2);
  if (first === 'export' || first === 'import' || first === 'copy') {
    // They have options of their own.
    const { runCommand } = await import('./command-line/commands.ts');
    await runCommand(first, others);
    return endSoon();
  }
  if (first === 'keys') {
    const { runKeys } = await import('./command-line/key-commands.ts');
    await runKeys(others);
    return endSoon();
  }
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  const [name = 'serve', ...rest] = positionals;
  const command = Object.hasOwn(COMMANDS, name) && rest.length === 0 ? COMMANDS[name] : undefined;
  if (values.help) await print(USAGE);
  else if (command !== undefined) await command();
  else throw new UsageError('unknown command');
  if (command !== serve || values.help) endSoon();
}

function fail(error: unknown): void {
  for (const line of explain(error)) process.stderr.write(`petstore: ${line}\n`);
  process.exitCode = error instanceof UsageError || isArgumentError(error) ? 2 : 1;
  endSoon();
}

/**
 * The process ends by itself, because everything that was opened is closed. The timer is for what was written to a
 * standard error that is not read.
 */
function endSoon(): void {
  setTimeout(() => process.exit(), 1_000).unref();
}

/** What an operator can mend, or has to know; each has a message of one line, without secrets. */
const TOLD_IN_A_LINE: ReadonlySet<unknown> = new Set<
  (
    | ApiKeyError
    | ArchiveError
    | DamagedApiKey
    | DamagedPet
    | OutputError
    | PetFileError
    | StorageSetupError
    | StorageUnavailable
    | UsageError
  )['kind']
>([
  'api-key-id-taken',
  'api-key-not-active',
  'api-key-not-found',
  'counts-differ',
  'damaged-api-key',
  'damaged-pet',
  'idempotency-key-taken',
  'output',
  'pet-file',
  'pet-id-taken',
  'storage-setup',
  'storage-unavailable',
  'usage',
]);

function isArgumentError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}

/** What an operator can mend takes a line each; of a bug the stack is wanted. */
function explain(error: unknown): readonly string[] {
  if (error instanceof InvalidConfig) return error.problems;
  if (!(error instanceof Error)) return [String(error)];
  if ('kind' in error && TOLD_IN_A_LINE.has(error.kind)) {
    return [error.message.replaceAll(/\s+/g, ' ')];
  }
  if (isArgumentError(error)) return [new UsageError('unknown option').message];
  if ('syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo')) {
    // It repeats HOST, which is no secret but may be more than a line.
    return [`HOST and PORT cannot be listened on: ${error.message.replaceAll(/\s+/g, ' ')}`];
  }
  return [error.stack ?? error.message];
}

main().catch(fail);
