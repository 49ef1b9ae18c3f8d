/**
 * One step of a client. Bytes are written as Latin-1 text.
 *
 * - `send`: writes the bytes; the next step waits until the operating system has them
 * - `sync`: waits until the service has answered another client, and has therefore seen what was sent before
 * - `end`: ends the client's side (FIN) and reads on; what a connection without `end` or `reset` does too, when every
 *   step is done
 * - `stay`: keeps the connection open until the service closes it
 * - `reset`: resets the connection (RST)
 */
export type Step =
  | { readonly on: number; readonly send: string; readonly sync?: true }
  | { readonly on: number; readonly close: 'end' | 'stay' | 'reset' };

/** What several clients do, in the order in which they do it. `on` is the number of the connection. */
export type FuzzCase = { readonly steps: readonly Step[] };

export function connectionsOf({ steps }: FuzzCase): readonly number[] {
  return [...new Set(steps.map(({ on }) => on))];
}

/** All bytes that a connection sends. */
export function bytesOf({ steps }: FuzzCase, connection: number): Buffer {
  const texts = steps.filter((step) => 'send' in step && step.on === connection);
  return Buffer.from(texts.map((step) => ('send' in step ? step.send : '')).join(''), 'latin1');
}

export function closeOf({ steps }: FuzzCase, connection: number): 'end' | 'stay' | 'reset' {
  const last = steps.find((step) => 'close' in step && step.on === connection);
  return last !== undefined && 'close' in last ? last.close : 'end';
}
