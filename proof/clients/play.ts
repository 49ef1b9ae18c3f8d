import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { API_KEY } from '../failure/service-process.ts';
import { blocksOf, readDocument } from '../../test/support/document.ts';
import { ROOT } from '../../test/support/process.ts';
import { TcpProxy } from '../../test/support/tcp-proxy.ts';
import { type Commands, type Generator, TRANSCRIPT } from './generators.ts';
import { startService } from './service.ts';
import { shell } from './shell.ts';
import { CLONES, ENV, READER_ENV, WORK } from './tools.ts';

const BUILD_TIMEOUT_MS = 900_000;
const RUN_TIMEOUT_MS = 60_000;

type Api = { readonly PETSTORE_URL: string; readonly PETSTORE_KEY: string };

/** The requests that reach the service. The answer to the first POST is lost, so the client sends this POST twice. */
const REQUESTS = [
  'POST 201',
  ...Array<string>(5).fill('POST 201'),
  ...Array<string>(3).fill('GET 200'),
  'POST 422',
];

/**
 * Generates a client, compiles it together with its example, and runs the example against a service.
 *
 * @throws {Error} when a step fails, or when the program prints or sends anything unexpected
 */
export async function play(name: string, generator: Generator): Promise<void> {
  await using service = await startService();
  const port = Number(new URL(service.url).port);
  await using proxy = await new TcpProxy({ host: '127.0.0.1', port }).listen();
  proxy.loseAnswers(Buffer.from('POST '), 1);
  const api = { PETSTORE_URL: `http://127.0.0.1:${proxy.port}/v1`, PETSTORE_KEY: API_KEY };
  const printed = await ('heading' in generator
    ? runBlock(name, generator.heading, api)
    : generate(name, generator, api));
  const { output = TRANSCRIPT } = generator;
  // Only the end of the output is compared, because a command that installs packages prints more before it.
  strictEqual(printed.slice(-output.length), output);
  deepStrictEqual(await service.stop(), REQUESTS);
}

/** Runs a block of the page in a directory that has only the example and the OpenAPI document. */
async function runBlock(name: string, heading: string, api: Api): Promise<string> {
  const directory = join(CLONES, name);
  const cwd = join(directory, 'petstore');
  await rm(directory, { recursive: true, force: true });
  for (const path of ['openapi.json', `examples/clients/${name}`]) {
    await cp(join(ROOT, path), join(cwd, path), { recursive: true });
  }
  const page = blocksOf(await readDocument('examples/clients/README.md'));
  const block = page.find(({ section }) => section === heading)?.text ?? '';
  return shell(block, { cwd, env: { ...READER_ENV, ...api }, timeoutMs: BUILD_TIMEOUT_MS });
}

async function generate(name: string, commands: Commands, api: Api): Promise<string> {
  const cwd = join(WORK, name);
  await rm(cwd, { recursive: true, force: true });
  await cp(join(ROOT, 'examples/clients', name), cwd, { recursive: true });
  await cp(join(ROOT, 'openapi.json'), join(cwd, 'openapi.json'));
  for (const command of [commands.generate, commands.compile]) {
    if (command !== undefined) await shell(command, { cwd, env: ENV, timeoutMs: BUILD_TIMEOUT_MS });
  }
  return shell(commands.run, { cwd, env: { ...ENV, ...api }, timeoutMs: RUN_TIMEOUT_MS });
}
