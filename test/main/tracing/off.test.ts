import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService } from '../../support/process.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

/** For NODE_OPTIONS: a module that prints the URL of every module of OpenTelemetry that is loaded. */
const PRINT_MODULES = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      if (/opentelemetry|tracing/.test(url)) process.stderr.write(url + '\\n');
      return next(url, context);
    },
  });
`)}`;

async function ran(env: Record<string, string>): Promise<Program> {
  const service = runService({ API_KEYS: KEY, NODE_OPTIONS: PRINT_MODULES, ...env });
  const url = await service.url();
  expect(await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' })).toMatchObject({
    status: 201,
  });
  expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200 });
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
  return service;
}

it.each<Record<string, string>>([
  {},
  { OTEL_SERVICE_NAME: 'shop', OTEL_TRACES_SAMPLER: 'always_on' },
  { ...ENDPOINT, OTEL_SDK_DISABLED: 'true' },
  { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
])('nothing of OpenTelemetry is loaded with %j', async (env) => {
  const service = await ran(env);
  const loaded = service.stderr
    .split('\n')
    .filter((url) => !/src\/main\/(?:tracing|config)\/tracing\.ts$|^$/.test(url));
  expect(loaded).toStrictEqual([]);
  expect(service.stdout).not.toContain('trace_id');
});

it('the SDK and its exporter are loaded with an endpoint', async () => {
  const { url } = await OtlpReceiver.start();
  const service = await ran({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  expect(service.stderr).toContain('/@opentelemetry/sdk-trace/');
  expect(service.stderr).toContain('/@opentelemetry/exporter-trace-otlp-proto/');
});
