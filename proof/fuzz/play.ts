import { bytesOf, closeOf, connectionsOf, type FuzzCase } from './fuzz-case.ts';
import { type Address, FuzzClient, type ConnectionRecord } from './fuzz-client.ts';
import { readRequests } from './read-requests.ts';
import type { SaneClient } from './sane-client.ts';

/** Runs the steps of a case. Resolves when every connection has ended. */
export async function play(
  fuzzCase: FuzzCase,
  address: Address,
  saneClient: SaneClient,
): Promise<ReadonlyMap<number, ConnectionRecord>> {
  const clients = new Map<number, FuzzClient>();
  for (const number of connectionsOf(fuzzCase)) clients.set(number, await FuzzClient.open(address));
  for (const step of fuzzCase.steps) {
    const client = clients.get(step.on);
    if ('send' in step) {
      await client?.send(step.send);
      if (step.sync) await saneClient.ask();
    } else if (step.close === 'end') await client?.end(expectedAnswers(fuzzCase, step.on));
    else if (step.close === 'reset') client?.reset();
  }
  const records = [...clients].map(async ([number, client]) => {
    if (closeOf(fuzzCase, number) === 'end') await client.end(expectedAnswers(fuzzCase, number));
    return [number, await client.waitForClose()] as const;
  });
  return new Map(await Promise.all(records));
}

/**
 * The number of answers for which the client waits before it ends its side: one for each whole request, and one for
 * input that is not a request.
 */
function expectedAnswers(fuzzCase: FuzzCase, connection: number): number {
  const { requests, rest } = readRequests(bytesOf(fuzzCase, connection));
  return requests.filter(({ bodyState }) => bodyState === 'whole').length + (rest === 'broken' ? 1 : 0);
}
