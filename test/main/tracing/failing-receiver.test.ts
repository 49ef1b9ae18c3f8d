import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { type Program, runService, stop } from '../../support/process.ts';

function start(env: Record<string, string>): Program {
  return runService({ API_KEYS: KEY, ...env });
}

const LOST_SPANS = 'traces are not exported, and spans are lost';

function messagesOf(service: Program): unknown[] {
  return service.log.map(({ msg }) => msg).filter((msg) => msg !== 'request');
}

it('an unresponsive receiver delays no request, and delays the stop by at most one second', async () => {
  const receiver = await OtlpReceiver.start(() => {});
  // The service exits with code 1 if its shutdown takes longer than SHUTDOWN_TIMEOUT and 3 s more: here 3.1 s.
  const service = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, SHUTDOWN_TIMEOUT: '100ms' });
  const url = await service.url();
  for (let request = 0; request < 20; request++) await ask(`${url}/v1/pets`);
  await stop(service);
  expect(messagesOf(service)).toStrictEqual([
    expect.stringMatching(/^listening on /),
    'shutting down',
    'the receiver of traces does not answer: the last spans are lost',
    'stopped',
  ]);
});

it('a warning reports that spans are lost when the receiver is slow and the queue of spans is full', async () => {
  const heldResponses: ServerResponse[] = [];
  const receiver = await OtlpReceiver.start((response) => void heldResponses.push(response));
  const service = start({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
  const url = await service.url();
  // The service sends 512 spans at a time, and 2048 may wait in its queue. Each request has 3 spans: 2700 in total.
  const askThirty = () => Promise.all(Array.from({ length: 30 }, () => ask(`${url}/v1/pets`)));
  for (let round = 0; round < 30; round++) await askThirty();
  heldResponses[0]?.end();
  await receiver.count(1_024);
  await ask(`${url}/v1/pets`);
  expect(await service.logged(LOST_SPANS)).toMatchObject({ reason: 'the queue of spans is full' });
});
