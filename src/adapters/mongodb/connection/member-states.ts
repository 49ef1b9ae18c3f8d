import type { TopologyDescription } from 'mongodb';
import { describeError } from './mongo-errors.ts';

/** @returns one line: each member's type, or the reason why the driver cannot use the member */
export function memberStates({ servers }: TopologyDescription): string {
  const states = Array.from(
    servers.values(),
    ({ address, type, error }) => `${address}: ${error ? reasonOf(error) : type}`,
  );
  // Without durations, a repeated reason has the same text.
  return states.join(', ').replaceAll(/ after \d+ms/g, '');
}

/** @returns a code such as ECONNREFUSED, because some texts of OpenSSL have several lines. */
function reasonOf(error: Error): string {
  const code = error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined;
  return typeof code === 'string' ? code : describeError(error);
}
