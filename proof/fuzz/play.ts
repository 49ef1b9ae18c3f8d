import { bytesOf, closeOf, connectionsOf, type FuzzCase } from './fuzz-case.ts';
import { type Address, FuzzClient, type Seen } from './fuzz-client.ts';
import { readRequests } from './read-requests.ts';
import type { SaneClient } from './sane-client.ts';

/** Does the steps of a case. Resolves when every connection has ended. */
export async function play(
  fuzzCase: FuzzCase,
  address: Address,
  sane: SaneClient,
): Promise<ReadonlyMap<number, Seen>> {
  const clients = new Map<number, FuzzClient>();
  for (const on of connectionsOf(fuzzCase)) clients.set(on, await FuzzClient.open(address));
  for (const step of fuzzCase.steps) {
    const client = clients.get(step.on);
    if ('send' in step) {
      await client?.send(step.send);
      if (step.sync) await sane.ask();
    } else if (step.close === 'end') await client?.end(due(fuzzCase, step.on));
    else if (step.close === 'reset') client?.reset();
  }
  const all = [...clients].map(async ([on, client]) => {
    if (closeOf(fuzzCase, on) === 'end') await client.end(due(fuzzCase, on));
    return [on, await client.seen()] as const;
  });
  return new Map(await Promise.all(all));
}

/** How many answers come before the client ends its side: to whole requests, and to what is no request. */
function due(fuzzCase: FuzzCase, on: number): number {
  const { requests, rest } = readRequests(bytesOf(fuzzCase, on));
  return requests.filter(({ bodyState }) => bodyState === 'whole').length + (rest === 'broken' ? 1 : 0);
}
