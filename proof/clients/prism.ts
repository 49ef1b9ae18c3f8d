import { deepStrictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ask } from '../failure/ask.ts';
import { freePort } from '../failure/free-port.ts';
import { AUTHORIZATION } from '../failure/service-process.ts';
import { Program } from '../../test/support/process.ts';
import { startService } from './service.ts';
import { ENV, WORK } from './tools.ts';

const NEW_PET = {
  method: 'POST',
  headers: { ...AUTHORIZATION, 'content-type': 'application/json' },
  body: '{"name": "Rex", "categoryId": 7}',
};
const GET = { headers: AUTHORIZATION };

/**
 * Requests through Prism, the expected status of each answer, and whether Prism must find a violation of the document.
 */
const REQUESTS = [
  ['/pets', NEW_PET, 201, false],
  ['/pets', { ...NEW_PET, headers: { ...NEW_PET.headers, 'idempotency-key': 'once' } }, 201, false],
  ['/pets', { ...NEW_PET, headers: { ...NEW_PET.headers, 'idempotency-key': 'once' } }, 201, false],
  ['/pets?limit=1', GET, 200, false],
  ['/pets?limit=1&cursor=v1.0000000000000001', GET, 200, false],
  ['/pets?status=sold', GET, 200, false],
  ['/pets/1', GET, 200, false],
  ['/pets/999', GET, 404, false],
  // Requests that violate the document, to prove that Prism finds violations.
  ['/pets?limit=0', GET, 400, true],
  ['/pets', { ...NEW_PET, body: '{"name": "Rex"}' }, 400, true],
  ['/pets', {}, 401, true],
] as const;

/**
 * Sends requests through Prism, which validates them and their answers against the document that the service serves.
 *
 * @throws {Error} when an answer has another status than expected, or when Prism finds other violations than expected
 */
export async function prism(): Promise<void> {
  await using service = await startService();
  const cwd = join(WORK, 'prism');
  await mkdir(cwd, { recursive: true });
  const document = (await ask(`${service.url}/openapi.json`)).body;
  await writeFile(join(cwd, 'openapi.json'), document);

  const port = await freePort();
  const args = ['proxy', 'openapi.json', `${service.url}/v1`, '--host', '127.0.0.1', '--port', `${port}`];
  const child = spawn('prism', args, { cwd, env: { ...process.env, ...ENV }, detached: true });
  const program = new Program(child);
  try {
    await program.printed(/Prism is listening/);
    const found = [];
    for (const [path, question] of REQUESTS) {
      const { status, headers } = await ask(`http://127.0.0.1:${port}${path}`, question);
      found.push([path, question, status, headers['sl-violations'] !== undefined]);
    }
    deepStrictEqual(found, REQUESTS);
  } finally {
    await program.kill();
  }
}
