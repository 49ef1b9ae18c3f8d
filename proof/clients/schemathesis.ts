import { match } from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { API_KEY } from '../failure/service-process.ts';
import { startService } from './service.ts';
import { shell } from './shell.ts';
import { ENV, WORK } from './tools.ts';

const TIMEOUT_MS = 900_000;

/**
 * Runs Schemathesis in all phases against a service, with the document that the service serves.
 *
 * @throws {Error} when Schemathesis finds anything, or skips a phase
 */
export async function schemathesis(): Promise<void> {
  await using service = await startService();
  const cwd = join(WORK, 'schemathesis');
  await mkdir(cwd, { recursive: true });
  const config = join(import.meta.dirname, 'schemathesis.toml');
  const printed = await shell(
    `schemathesis --config-file '${config}' run ${service.url}/openapi.json --max-examples 200 --seed 20261121`,
    { cwd, env: { ...ENV, PETSTORE_KEY: API_KEY }, timeoutMs: TIMEOUT_MS },
  );
  for (const phase of ['Examples', 'Coverage', 'Fuzzing', 'Stateful']) {
    match(printed, new RegExp(`✅ *${phase}`), printed);
  }
}
