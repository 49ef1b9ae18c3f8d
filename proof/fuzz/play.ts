import { closeOf, connectionsOf, type FuzzCase } from './fuzz-case.ts';
import { FuzzClient, type Seen } from './fuzz-client.ts';
import type { SaneClient } from './sane-client.ts';

export type Address = { readonly port: number; readonly tls: boolean };

/** Does the steps of a case. Resolves when every connection has ended. */
export async function play(
  fuzzCase: FuzzCase,
  address: Address,
  sane: SaneClient,
): Promise<ReadonlyMap<number, Seen>> {
  const clients = new Map<number, FuzzClient>();
  for (const on of connectionsOf(fuzzCase)) clients.set(on, await FuzzClient.open(address.port, address));
  for (const step of fuzzCase.steps) {
    const client = clients.get(step.on);
    if ('send' in step) {
      await client?.send(step.send);
      if (step.sync) await sane.ask();
    } else if (step.close === 'end') client?.end();
    else if (step.close === 'reset') client?.reset();
  }
  const all = [...clients].map(async ([on, client]) => {
    if (closeOf(fuzzCase, on) === 'end') client.end();
    return [on, await client.seen()] as const;
  });
  return new Map(await Promise.all(all));
}
