#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { describeVariables, InvalidConfig, readConfig } from './config.ts';
import { openLog } from './log.ts';
import { start } from './start.ts';

const USAGE = `petstore: a catalogue of animals behind a JSON HTTP API

Usage:
  npm start                        run the service
  npm run petstore -- migrate      bring the schema of a MongoDB database up to date
  npm run petstore -- --help       show this

Variables, each with its default; an empty one counts as not set:
${describeVariables()}
`;

async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const log = await openLog(config);
  const service = await start(config, log);
  log.info({ url: service.url }, `listening on ${service.url}`);
  if (service.madeKey !== undefined) {
    // To the terminal, never to the log.
    process.stderr.write(
      `\nNo API_KEYS are set, so a key was made for this run. Try:\n\n` +
        `  curl -H 'Authorization: Bearer ${service.madeKey}' ${service.url}/v1/pets\n\n`,
    );
  }
  const stop = (signal: string) => {
    log.info({ signal }, 'shutting down');
    service.stop().then((cutOff) => log.info({ cutOff }, 'stopped'), fail);
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

async function migrate(): Promise<void> {
  const { DATABASE_URL } = readConfig(process.env);
  if (!DATABASE_URL.startsWith('mongodb'))
    throw new InvalidConfig(['DATABASE_URL must be mongodb://HOST/DATABASE to migrate']);
  const { migrate } = await import('../adapters/mongodb/migrate.ts');
  await migrate(DATABASE_URL);
}

const COMMANDS = { serve, migrate };

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
  });
  const [command = 'serve', ...rest] = positionals;
  if (values.help) process.stdout.write(USAGE);
  else if (rest.length === 0 && Object.hasOwn(COMMANDS, command))
    await COMMANDS[command as keyof typeof COMMANDS]();
  else throw new InvalidConfig([`unknown command: ${positionals.join(' ')}`, USAGE]);
}

function fail(error: unknown): void {
  process.stderr.write(`petstore: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

main().catch(fail);
