import { deepStrictEqual } from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ask } from '../failure/ask.ts';
import { API_KEY, AUTHORIZATION } from '../failure/service-process.ts';
import { startService } from './service.ts';
import { shell } from './shell.ts';
import { ENV, WORK } from './tools.ts';

const TIMEOUT_MS = 120_000;

/** The example of `getPet` in the OpenAPI document reads the pet with this id. */
const EXAMPLE_ID = 42;

/** The expected status of the answer to each request of the collection. */
const EXPECTED_STATUSES = { 'List animals': 200, 'Add an animal': 201, 'Get an animal': 200 };

type Execution = { readonly item: { readonly name: string }; readonly response?: { readonly code: number } };

/**
 * Converts the OpenAPI document of the service into a Postman collection, and runs its requests. Only the API key is
 * added to them.
 *
 * @throws {Error} when a request does not succeed
 */
export async function postman(): Promise<void> {
  await using service = await startService();
  const cwd = join(WORK, 'postman');
  await mkdir(cwd, { recursive: true });
  await writeFile(join(cwd, 'openapi.json'), (await ask(`${service.url}/openapi.json`)).body);
  await addPets(`${service.url}/v1/pets`);

  const options = { cwd, env: { ...ENV, API_KEY }, timeoutMs: TIMEOUT_MS };
  await shell(
    'openapi2postmanv2 -s openapi.json -o collection.json -O parametersResolution=Example,folderStrategy=Tags',
    options,
  );
  await shell(
    'newman run collection.json --env-var "bearerToken=$API_KEY" -r json --reporter-json-export run.json',
    options,
  );
  const { run } = JSON.parse(await readFile(join(cwd, 'run.json'), 'utf8'));
  const executions: readonly Execution[] = run.executions;
  const answers = Object.fromEntries(executions.map(({ item, response }) => [item.name, response?.code]));
  deepStrictEqual(answers, EXPECTED_STATUSES);
}

async function addPets(url: string): Promise<void> {
  const headers = { ...AUTHORIZATION, 'content-type': 'application/json' };
  for (let id = 1; id <= EXAMPLE_ID; id++) {
    await ask(url, { method: 'POST', headers, body: `{"name": "Rex", "categoryId": ${id}}` });
  }
}
