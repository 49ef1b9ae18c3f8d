/**
 * One step of a case. `on` is the number of the connection. The bytes are written as Latin-1 text.
 *
 * - `send`: writes the bytes. The next step waits until the operating system has accepted the bytes
 * - `sync`: the next step waits until the service has answered another client. By then, the service has read the bytes
 * - `end`: ends the client's side (FIN) and continues to read. A connection without a `close` step ends this way after
 * all steps
 * - `stay`: keeps the connection open until the service closes it
 * - `reset`: resets the connection (RST)
 */
export type Step =
  | { readonly on: number; readonly send: string; readonly sync?: true }
  | { readonly on: number; readonly close: 'end' | 'stay' | 'reset' };

/** The steps of several connections, in the order in which they run. */
export type FuzzCase = { readonly steps: readonly Step[] };

/** The numbers of the connections. */
export function connectionsOf({ steps }: FuzzCase): readonly number[] {
  return [...new Set(steps.map(({ on }) => on))];
}

/** All bytes that a connection sends. */
export function bytesOf({ steps }: FuzzCase, connection: number): Buffer {
  const sends = steps.filter((step) => 'send' in step && step.on === connection);
  return Buffer.from(sends.map((step) => ('send' in step ? step.send : '')).join(''), 'latin1');
}

/** How the client ends a connection. */
export function closeOf({ steps }: FuzzCase, connection: number): 'end' | 'stay' | 'reset' {
  const closeStep = steps.find((step) => 'close' in step && step.on === connection);
  return closeStep !== undefined && 'close' in closeStep ? closeStep.close : 'end';
}
