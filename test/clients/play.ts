import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { API_KEY } from '../failure/service-process.ts';
import { ROOT } from '../support/process.ts';
import { type Generator, TRANSCRIPT } from './generators.ts';
import { lossyProxy } from './lossy-proxy.ts';
import { startService } from './service.ts';
import { shell } from './shell.ts';
import { ENV, WORK } from './tools.ts';

const BUILD_TIMEOUT_MS = 900_000;
const RUN_TIMEOUT_MS = 60_000;

/** What reaches the service: the answer of the first POST is lost, and the client sends it again. */
const REQUESTS = [
  'POST 201',
  ...Array<string>(5).fill('POST 201'),
  ...Array<string>(3).fill('GET 200'),
  'POST 422',
];

/**
 * Generates a client, compiles it together with its example, and runs that against a service.
 *
 * @throws {Error} when a step fails, or when the program prints or sends anything unexpected
 */
export async function play(name: string, { generate, compile, run, output }: Generator): Promise<void> {
  const cwd = join(WORK, name);
  await rm(cwd, { recursive: true, force: true });
  await cp(join(ROOT, 'examples/clients', name), cwd, { recursive: true });
  await cp(join(ROOT, 'openapi.json'), join(cwd, 'openapi.json'));
  for (const command of [generate, compile]) {
    if (command !== undefined) await shell(command, { cwd, env: ENV, timeoutMs: BUILD_TIMEOUT_MS });
  }

  await using service = await startService();
  await using proxy = await lossyProxy(service.url);
  const env = { ...ENV, PETSTORE_URL: `${proxy.url}/v1`, PETSTORE_KEY: API_KEY };
  const printed = await shell(run, { cwd, env, timeoutMs: RUN_TIMEOUT_MS });
  strictEqual(printed, output ?? TRANSCRIPT);
  deepStrictEqual(await service.stop(), REQUESTS);
}
