import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { LIST_MODULES, runService, stop } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };

/** What only some services need. */
const ON_DEMAND = {
  mongodb: /\/node_modules\/mongodb\//,
  metrics: /\/node_modules\/prom-client\//,
  traces: /\/node_modules\/@opentelemetry\//,
};

async function run(env: Record<string, string>) {
  const MODULES = join(await testDirectory(), 'modules');
  const service = runService({ API_KEYS: KEY, NODE_OPTIONS: LIST_MODULES, MODULES, ...env });
  return { service, modules: () => readFile(MODULES, 'utf8') };
}

function partsIn(modules: string): readonly string[] {
  return Object.keys(ON_DEMAND).filter((part) => ON_DEMAND[part as keyof typeof ON_DEMAND].test(modules));
}

it.each<readonly [readonly string[], Record<string, string>]>([
  [[], { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
  [['metrics', 'traces'], { METRICS_PORT: '0', ...ENDPOINT }],
])('a service loads %j with %j', async (parts, env) => {
  const { service, modules } = await run(env);
  const url = `${await service.url()}/v1/pets`;
  expect((await ask(url, { body: '{"name":"Rex","categoryId":7}' })).status).toBe(201);
  expect((await ask(url)).status).toBe(200);
  await stop(service);
  expect(partsIn(await modules())).toStrictEqual(parts);
});

it('a service on MongoDB loads its driver', async () => {
  const { service, modules } = await run({
    DATABASE_URL: 'mongodb://127.0.0.1:1/pets?serverSelectionTimeoutMS=1',
  });
  await service.ended;
  expect(partsIn(await modules()), service.stderr).toStrictEqual(['mongodb']);
});
