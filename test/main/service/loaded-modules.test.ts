import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { preload, type Program, runService } from '../../support/process.ts';

/** Prints the URL of each module that is loaded. */
const PRINT_MODULES = preload(`
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    process.stderr.write(url + '\\n');
    return next(url, context);
  } });`);

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };

/** What only some services need. */
const ON_DEMAND = {
  mongodb: /\/node_modules\/mongodb\//,
  metrics: /\/node_modules\/prom-client\//,
  traces: /\/node_modules\/@opentelemetry\//,
  workers: /\/service\/(?:start-workers|worker-process|work)\.ts/,
};

function run(env: Record<string, string>): Program {
  return runService({ API_KEYS: KEY, NODE_OPTIONS: PRINT_MODULES, ...env });
}

function loadedBy({ stderr }: Program): readonly string[] {
  return Object.keys(ON_DEMAND).filter((part) => ON_DEMAND[part as keyof typeof ON_DEMAND].test(stderr));
}

it.each<readonly [readonly string[], Record<string, string>]>([
  [[], { WORKERS: '1', ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }],
  [['metrics', 'traces'], { METRICS_PORT: '0', ...ENDPOINT }],
])('a service loads %j with %j', async (parts, env) => {
  const service = run(env);
  const url = `${await service.url()}/v1/pets`;
  expect((await ask(url, { body: '{"name":"Rex","categoryId":7}' })).status).toBe(201);
  expect((await ask(url)).status).toBe(200);
  service.signal('SIGTERM');
  await service.ended;
  expect(loadedBy(service)).toStrictEqual(parts);
});

it('a service with workers on MongoDB loads what it needs', async () => {
  const service = run({
    WORKERS: '2',
    DATABASE_URL: 'mongodb://127.0.0.1:1/pets?serverSelectionTimeoutMS=1',
  });
  await service.ended;
  expect(loadedBy(service), service.stdout).toStrictEqual(['mongodb', 'workers']);
});
