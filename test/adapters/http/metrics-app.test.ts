import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { createMetricsApp } from '../../../src/adapters/http/app.ts';
import { listen } from '../../../src/adapters/http/server/listen.ts';
import { notAllowed, INTERNAL, problem, readBrief, success } from '../../support/answer.ts';
import { RecordingLog } from '../../support/recording-log.ts';

const METRICS_TEXT = '# HELP a A\n# TYPE a counter\na 1\n';

async function serve(text: () => Promise<string> = async () => METRICS_TEXT) {
  const log = new RecordingLog();
  const server = await listen(createMetricsApp(text, log), { host: '127.0.0.1', port: 0, log });
  onTestFinished(async () => void (await server.drain(0)));
  const sendRequest = async (path: string, method = 'GET') => {
    const headers = { 'x-request-id': 'mine' };
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method, headers });
    return { ...(await readBrief(response)), type: response.headers.get('content-type') };
  };
  return { log, sendRequest, port: server.port };
}

const NOT_FOUND = problem(404, 'ROUTE_NOT_FOUND', 'there is nothing at this path');
const JSON_TYPE = 'application/json; charset=utf-8';

it('/metrics answers with the metrics in the text format of Prometheus', async () => {
  const { sendRequest } = await serve();
  const type = 'text/plain; version=0.0.4; charset=utf-8';
  expect(await sendRequest('/metrics')).toStrictEqual({ ...success(200, METRICS_TEXT), type });
  expect(await sendRequest('/metrics', 'HEAD')).toStrictEqual({ ...success(200, ''), type });
  expect((await sendRequest('/metrics?name[]=a')).body).toBe(METRICS_TEXT);
});

it('the port of the metrics answers 404 to every path other than /metrics', async () => {
  const { sendRequest } = await serve();
  for (const path of ['/', '/Metrics', '/v1/pets', '/readyz']) {
    expect(await sendRequest(path), path).toStrictEqual({ ...NOT_FOUND, type: JSON_TYPE });
  }
});

it('/metrics answers 405 to a method other than GET, HEAD and OPTIONS', async () => {
  const { sendRequest } = await serve();
  const expected = { ...notAllowed('GET, HEAD, OPTIONS'), type: JSON_TYPE };
  for (const method of ['POST', 'QUERY']) {
    expect(await sendRequest('/metrics', method), method).toStrictEqual(expected);
  }
});

it('the port of the metrics refuses a URL that is too long or has a fragment, as the API does', async () => {
  const { sendRequest, port } = await serve();
  expect((await sendRequest(`/metrics?${'x'.repeat(8192)}`)).status).toBe(414);
  const clientRequest = get({ host: '127.0.0.1', port, path: '/metrics#' });
  const [{ statusCode }] = (await once(clientRequest, 'response')) as [IncomingMessage];
  expect(statusCode).toBe(400);
});

it('/metrics answers 500 and logs a failure if a metric cannot be read', async () => {
  const bug = new Error('a collector has a bug');
  const { sendRequest, log } = await serve(() => Promise.reject(bug));
  expect(await sendRequest('/metrics')).toStrictEqual({ ...INTERNAL, type: JSON_TYPE });
  expect(log.failures).toStrictEqual([{ error: bug, requestId: 'mine' }]);
});
