import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService, stop } from '../../support/process.ts';

function start(env: Record<string, string>): Program {
  return runService({ API_KEYS: KEY, ...env });
}

const LOST = 'traces are not exported: spans are lost';

function messages(service: Program): unknown[] {
  return service.log.map(({ msg }) => msg).filter((msg) => msg !== 'request');
}

it('an unresponsive receiver delays no request, and delays the stop by at most one second', async () => {
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

it('spans that do not fit into the queue are dropped while the receiver is slow', async () => {
  const held: ServerResponse[] = [];
  const receiver = await OtlpReceiver.start((response) => void held.push(response));
  const service = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
  const url = await service.url();
  // A batch of 512 spans is on its way, and 2048 wait. A list has three.
  const askThirty = () => Promise.all(Array.from({ length: 30 }, () => ask(`${url}/v1/pets`)));
  for (let times = 0; times < 30; times++) await askThirty();
  held[0]?.end();
  await receiver.count(1_024);
  await ask(`${url}/v1/pets`);
  expect(await service.logged(LOST)).toMatchObject({ reason: 'more spans wait than the queue can hold' });
});
