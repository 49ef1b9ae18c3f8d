import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createMetricsApp } from '../../../src/adapters/http/app.ts';
import { listen } from '../../../src/adapters/http/server/listen.ts';
import { allows, INTERNAL, problem, received, success } from '../../support/answer.ts';
import { RecordingLog } from '../../support/recording-log.ts';

const TEXT = '# HELP a A\n# TYPE a counter\na 1\n';

async function serve(text: () => Promise<string> = async () => TEXT) {
  const log = new RecordingLog();
  const server = await listen(createMetricsApp(text, log), { host: '127.0.0.1', port: 0, log });
  onTestFinished(async () => void (await server.drain(0)));
  const ask = async (path: string, method = 'GET') => {
    const headers = { 'x-request-id': 'mine' };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers });
    return { ...(await received(response)), type: response.headers.get('content-type') };
  };
  return { log, ask, port: server.port };
}

const NOT_FOUND = problem(404, 'ROUTE_NOT_FOUND', 'there is nothing at this path');
const JSON_TYPE = 'application/json; charset=utf-8';

it('the metrics are text in the format of Prometheus', async () => {
  const { ask } = await serve();
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  expect(await ask('/metrics')).toStrictEqual({ ...success(200, TEXT), type });
  expect(await ask('/metrics', 'HEAD')).toStrictEqual({ ...success(200, ''), type });
  expect((await ask('/metrics?name[]=a')).body).toBe(TEXT);
});

it('the port of the metrics answers 404 to every other path', async () => {
  const { ask } = await serve();
  for (const path of ['/', '/Metrics', '/v1/pets', '/readyz']) {
    expect(await ask(path), path).toStrictEqual({ ...NOT_FOUND, type: JSON_TYPE });
  }
});

it('the metrics allow only methods that read', async () => {
  const { ask } = await serve();
  const expected = { ...allows('GET, HEAD, OPTIONS'), type: JSON_TYPE };
  for (const method of ['POST', 'QUERY']) {
    expect(await ask('/metrics', method), method).toStrictEqual(expected);
  }
});

it('the metrics are refused to a request that the API would refuse as well', async () => {
  const { ask, port } = await serve();
  expect((await ask(`/metrics?${'x'.repeat(8192)}`)).status).toBe(414);
  const asked = get({ host: '127.0.0.1', port, path: '/metrics#' });
  const [{ statusCode }] = (await once(asked, 'response')) as [IncomingMessage];
  expect(statusCode).toBe(400);
});

it('metrics that cannot be read cause a 500 and a logged failure', async () => {
  const bug = new Error('a collector has a bug');
  const { ask, log } = await serve(() => Promise.reject(bug));
  expect(await ask('/metrics')).toStrictEqual({ ...INTERNAL, type: JSON_TYPE });
  expect(log.failures).toStrictEqual([{ error: bug, requestId: 'mine' }]);
});
