#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { StorageSetupError } from '../application/errors.ts';
import { describeVariables, InvalidConfig, readConfig } from './config.ts';
import { serve } from './serve.ts';

const USAGE = `petstore: a catalogue of animals behind a JSON HTTP API

Usage:
  npm start                        run the service
  npm run petstore -- migrate      bring the schema of a MongoDB database up to date
  npm run petstore -- --help       show this

Variables, each with its default; an empty one counts as not set:
${describeVariables()}
`;

async function migrate(): Promise<void> {
  const { DATABASE_URL } = readConfig(process.env);
  if (!DATABASE_URL.startsWith('mongodb'))
    throw new InvalidConfig(['DATABASE_URL must be mongodb://HOST/DATABASE to migrate']);
  const mongodb = await import('../adapters/mongodb/migrate.ts');
  const { database, from, to } = await mongodb.migrate(DATABASE_URL);
  const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
  process.stdout.write(`the database "${database}" has schema version ${to} (${before})\n`);
}

const COMMANDS: Readonly<Record<string, () => Promise<void>>> = { serve, migrate };

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  const [name = 'serve', ...rest] = positionals;
  const command = Object.hasOwn(COMMANDS, name) && rest.length === 0 ? COMMANDS[name] : undefined;
  if (values.help) process.stdout.write(USAGE);
  else if (command !== undefined) await command();
  else throw new InvalidConfig(['unknown command; see npm run petstore -- --help']);
}

function fail(error: unknown): void {
  for (const line of explain(error)) process.stderr.write(`petstore: ${line}\n`);
  // Not exit(): what was opened has been closed, so that the process ends by itself.
  process.exitCode = 1;
}

/** What an operator can mend takes a line each; of a bug the stack is wanted. */
function explain(error: unknown): readonly string[] {
  if (error instanceof InvalidConfig) return error.problems;
  if (error instanceof StorageSetupError) return [error.message];
  if (!(error instanceof Error)) return [String(error)];
  if ('code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')) {
    return ['unknown option; see npm run petstore -- --help'];
  }
  if ('syscall' in error && (error.syscall === 'listen' || error.syscall === 'getaddrinfo')) {
    // It repeats HOST, which is no secret but may be more than a line.
    return [`HOST and PORT cannot be listened on: ${error.message.replaceAll(/\s+/g, ' ')}`];
  }
  return [error.stack ?? error.message];
}

main().catch(fail);
