import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { readBuild } from '../../../src/main/config/build.ts';
import { serveMetrics } from '../../../src/main/service/serve-metrics.ts';
import { ask, connect, CREATED, KEY, startStalledCreate } from '../../support/client.ts';
import { HAS_IPV6 } from '../../support/ipv6.ts';
import { nonZero, scrape } from '../../support/metrics.ts';
import { DONE, run, runService, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { newPath } from '../../support/sqlite.ts';

const METRICS_ON = { METRICS_PORT: '0' };
const PET = '{"name":"Rex","categoryId":7}';

const requestCountOf = (method: string, route: string, status_class: string) =>
  `http_request_duration_seconds_count{method="${method}",route="${route}",status_class="${status_class}"}`;

it('the metrics of a service count its requests and its calls to the storage', async () => {
  const env = { ...METRICS_ON, METRICS_HOST: '0.0.0.0', API_KEYS: `tom=${KEY}`, RATE_LIMIT: '600/60s' };
  const { url, metricsUrl } = await startService(env);
  expect(metricsUrl).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/metrics$/);
  await ask(`${url}/v1/pets`, { body: PET });
  await ask(`${url}/v1/pets`, { body: PET, headers: { 'idempotency-key': 'a' } });
  await ask(`${url}/v1/pets?limit=1`);
  await ask(`${url}/v1/pets/1`);
  await ask(`${url}/v1/pets/9`, { method: 'HEAD' });
  await ask(`${url}/v1/pets`, { key: '' });
  await ask(`${url}/v1/pets`, { key: mintKey().token });
  await ask(`${url}/nothing`);
  await ask(`${url}/readyz`);
  const series = await scrape(metricsUrl);
  expect(nonZero(series, 'http_request_duration_seconds_count')).toStrictEqual({
    [requestCountOf('POST', '/v1/pets', '2xx')]: 2,
    [requestCountOf('GET', '/v1/pets', '2xx')]: 1,
    [requestCountOf('GET', '/v1/pets/:petId', '2xx')]: 1,
    [requestCountOf('HEAD', '/v1/pets/:petId', '4xx')]: 1,
    [requestCountOf('GET', 'none', '4xx')]: 3,
    [requestCountOf('GET', '/readyz', '2xx')]: 1,
  });
  const { version, commit } = readBuild();
  expect(nonZero(series, 'petstore_')).toMatchObject({
    [`petstore_build_info{version="${version}",commit="${commit}"}`]: 1,
    'petstore_storage_operation_duration_seconds_count{operation="insert_pet"}': 1,
    'petstore_storage_operation_duration_seconds_count{operation="insert_pet_once"}': 1,
    'petstore_storage_operation_duration_seconds_count{operation="list_pets"}': 1,
    'petstore_storage_operation_duration_seconds_count{operation="find_pet"}': 2,
    'petstore_storage_operation_duration_seconds_count{operation="find_key"}': 1,
    'petstore_deprecated_calls_total{key_id="tom"}': 2,
    'petstore_key_verifications_total{outcome="accepted"}': 5,
    'petstore_key_verifications_total{outcome="unknown"}': 1,
    'petstore_rate_limit_decisions_total{decision="allowed"}': 5,
    petstore_storage_ready: 1,
  });
  expect(nonZero(series, 'petstore_storage_failures_total')).toStrictEqual({});
  expect(series.get('http_requests_in_flight')).toBe(0);
  // The series exists before the first answer with this status.
  expect(series.get('http_responses_total{status="302"}')).toBe(0);
  expect(series.get('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThanOrEqual(0);
});

describe('the port of the metrics', () => {
  it('answers requests during a drain, and is closed when the service has ended', async () => {
    const service = runService({ ...METRICS_ON, API_KEYS: KEY });
    const url = await service.url();
    const { metricsUrl } = await service.logged(/metrics at [^"]+/);
    expect(metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*\/metrics$/);
    const { complete } = await startStalledCreate(url);

    service.signal('SIGTERM');
    await service.logged('shutting down');

    expect((await scrape(String(metricsUrl))).get('http_requests_in_flight')).toBe(1);
    expect(await complete()).toStrictEqual(CREATED);
    expect(await service.ended).toStrictEqual(DONE);
    await expect(fetch(String(metricsUrl))).rejects.toThrow('fetch failed');
    expect(service.stderr).toBe('');
  });

  it('answers bytes that are not HTTP, and neither counts nor logs its own requests and connections', async () => {
    const { url, metricsUrl = '', log } = await startService(METRICS_ON);
    const connection = await connect(metricsUrl);
    // The first byte is that of a TLS handshake.
    await connection.send('\x16nonsense\r\n\r\n');
    expect((await connection.answer()).status).toBe(400);
    const apiConnection = await connect(url);
    await apiConnection.send('nonsense\r\n\r\n');
    expect((await apiConnection.answer()).status).toBe(400);
    await scrape(metricsUrl);
    const series = await scrape(metricsUrl);
    expect(nonZero(series, 'http_')).toStrictEqual({
      http_unparsed_requests_total: 1,
      'http_responses_total{status="400"}': 1,
    });
    expect(log.map(({ msg }) => msg)).toStrictEqual(['request']);
  });

  it('logs why a scrape failed, and completes a scrape in progress before it closes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let readMetrics = (): Promise<string> => Promise.reject(new Error('boom'));
    const lines: string[] = [];
    const log = pino({}, { write: (line) => void lines.push(line) });
    const metricsHost = HAS_IPV6 ? '::1' : '127.0.0.1';
    const metricsServer = await serveMetrics(() => readMetrics(), { metricsHost, metricsPort: 0 }, log);
    expect((await ask(metricsServer.url)).status).toBe(500);
    expect(lines).toStrictEqual([expect.stringMatching(/"message":"boom".*"msg":"failure"/)]);
    readMetrics = async () => {
      void metricsServer[Symbol.asyncDispose]();
      vi.advanceTimersByTime(199);
      return 'a 1\n';
    };
    expect((await scrape(metricsServer.url)).get('a')).toBe(1);
  });

  it('leaves enough file descriptors for the API when many clients connect to this port', async () => {
    const DATABASE_URL = `sqlite:${await newPath()}`;
    const command = `ulimit -n 64; exec '${process.execPath}' ${SERVICE.join(' ')}`;
    const env = { ...SERVICE_ENV, ...METRICS_ON, API_KEYS: KEY, DATABASE_URL };
    const service = run('bash', ['-c', command], env);
    const url = await service.url();
    const { metricsUrl } = await service.logged(/metrics at [^"]+/);
    for (let n = 1; n < 80; n++) await connect(String(metricsUrl));
    await (await connect(String(metricsUrl))).closed();
    for (let n = 0; n < 8; n++) {
      const { status } = await ask(`${url}/v1/pets`, { body: PET, headers: { connection: 'close' } });
      expect(status).toBe(201);
    }
  });

  it('stops the start with one line if another service uses this port', async () => {
    const { port: METRICS_PORT } = new URL((await startService(METRICS_ON)).metricsUrl ?? '');
    await expect(startService({ METRICS_PORT })).rejects.toThrow(
      `METRICS_PORT is ${METRICS_PORT}, which is in use on 127.0.0.1: stop what uses it, or set another METRICS_PORT`,
    );
  });
});
