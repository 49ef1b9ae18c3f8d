import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createMetricsApp } from '../../../src/adapters/http/app.ts';
import { received } from '../../support/answer.ts';
import { RecordingLog } from '../../support/recording-log.ts';

const TEXT = '# HELP a A\n# TYPE a counter\na 1\n';

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-request-id': 'mine',
};

async function serve(text: () => Promise<string> = async () => TEXT) {
  const log = new RecordingLog();
  const server = createServer(createMetricsApp(text, log)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'x-request-id': 'mine' },
    });
    return received(response);
  };
  return { log, ask, port };
}

function refusal(code: string, message: string, status: number) {
  const body = JSON.stringify({ code, message, status });
  const headers = {
    ...HEADERS,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
  };
  return { status, headers, body };
}

describe('the metrics', () => {
  it('are text in the format of Prometheus', async () => {
    const { ask } = await serve();
    const headers = {
      ...HEADERS,
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': String(TEXT.length),
    };
    expect(await ask('/metrics')).toStrictEqual({ status: 200, headers, body: TEXT });
    expect(await ask('/metrics', 'HEAD')).toStrictEqual({ status: 200, headers, body: '' });
    expect((await ask('/metrics?name[]=a')).body).toBe(TEXT);
  });

  it('are the only thing there', async () => {
    const { ask } = await serve();
    for (const path of ['/', '/Metrics', '/v1/pets', '/readyz']) {
      expect(await ask(path), path).toStrictEqual(
        refusal('ROUTE_NOT_FOUND', 'there is nothing at this path', 404),
      );
    }
  });

  it('are only read', async () => {
    const { ask } = await serve();
    const expected = refusal('METHOD_NOT_ALLOWED', 'this path allows GET, HEAD, OPTIONS', 405);
    for (const method of ['POST', 'QUERY']) {
      expect(await ask('/metrics', method), method).toStrictEqual({
        ...expected,
        headers: { ...expected.headers, allow: 'GET, HEAD, OPTIONS' },
      });
    }
  });

  it('are not read by a request that the API would refuse', async () => {
    const { ask, port } = await serve();
    expect((await ask(`/metrics?${'x'.repeat(8192)}`)).status).toBe(414);
    const asked = get({ host: '127.0.0.1', port, path: '/metrics#' });
    const [{ statusCode }] = (await once(asked, 'response')) as [IncomingMessage];
    expect(statusCode).toBe(400);
  });

  it('that cannot be read are a failure, which is logged', async () => {
    const bug = new Error('a collector has a bug');
    const { ask, log } = await serve(() => Promise.reject(bug));
    expect(await ask('/metrics')).toStrictEqual(
      refusal('INTERNAL', 'an internal error occurred; it has been logged under this request id', 500),
    );
    expect(log.failures).toStrictEqual([{ error: bug, requestId: 'mine' }]);
  });
});
