import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { freePort } from '../../../proof/failure/free-port.ts';
import { ask, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService, stop } from '../../support/process.ts';

function start(env: Record<string, string>): Program {
  return runService({ API_KEYS: KEY, OTEL_BSP_SCHEDULE_DELAY: '0', ...env });
}

const LOST = 'traces are not exported: spans are lost';

function messages(service: Program): unknown[] {
  return service.log.map(({ msg }) => msg).filter((msg) => msg !== 'request');
}

it('a receiver that is down costs one warning', async () => {
  const port = await freePort();
  const service = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    // Less than the pause before the second attempt.
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
  });
  const url = await service.url();
  for (let request = 0; request < 20; request++) {
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200 });
  }
  expect(await service.logged(LOST)).toMatchObject({
    level: 40,
    reason: `connect ECONNREFUSED 127.0.0.1:${port}, ECONNREFUSED`,
  });
  for (let request = 0; request < 20; request++) await ask(`${url}/v1/pets`);
  await stop(service);
  expect(messages(service)).toStrictEqual([
    expect.stringMatching(/^listening on /),
    LOST,
    'shutting down',
    'stopped',
  ]);
  expect(service.stderr).toBe('');
});

it('a receiver that hangs delays no request, and the stop by a second at most', async () => {
  const receiver = await OtlpReceiver.start(() => {});
  // The process would end with 1 after this time and three seconds.
  const service = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SHUTDOWN_TIMEOUT: '100ms' });
  const url = await service.url();
  for (let request = 0; request < 20; request++) await ask(`${url}/v1/pets`);
  await stop(service);
  expect(messages(service)).toStrictEqual([
    expect.stringMatching(/^listening on /),
    'shutting down',
    'the receiver of traces does not answer: the last spans are lost',
    'stopped',
  ]);
});

it('spans beyond the queue are dropped while the receiver is slow', async () => {
  const held: ServerResponse[] = [];
  const receiver = await OtlpReceiver.start((response) => void held.push(response));
  const service = start({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_MAX_QUEUE_SIZE: '3',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '3',
  });
  const url = await service.url();
  const list = async (requestId: string) => {
    await ask(`${url}/v1/pets`, { headers: { 'x-request-id': requestId } });
    // The span ends just before its line.
    await service.printed(new RegExp(`"requestId":"${requestId}"`));
  };
  await list('sent');
  await receiver.count(3);
  await list('queued');
  await list('dropped');
  held[0]?.end();
  await receiver.count(6);
  held[1]?.end();
  await list('later');
  expect(await service.logged(LOST)).toMatchObject({
    reason: 'more spans wait than OTEL_BSP_MAX_QUEUE_SIZE',
  });
  const spans = await receiver.count(9);
  const ids = spans.flatMap(({ attributes }) => attributes['http.response.header.x-request-id'] ?? []);
  expect(ids).toStrictEqual(['sent', 'queued', 'later']);
});
