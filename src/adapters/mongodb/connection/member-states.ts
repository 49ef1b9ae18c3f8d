import type { TopologyDescription } from 'mongodb';
import { describeError } from './mongo-errors.ts';

/** One line: for each member the type, or the reason why the driver cannot use the member. */
export function memberStates({ servers }: TopologyDescription): string {
  const states = Array.from(
    servers.values(),
    ({ address, type, error }) => `${address}: ${error ? reasonOf(error) : type}`,
  );
  // With a duration, every reason would look new.
  return states.join(', ').replaceAll(/ after \d+ms/g, '');
}

/** A code such as ECONNREFUSED, because some texts of OpenSSL have several lines. */
function reasonOf(error: Error): string {
  const code = error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined;
  return typeof code === 'string' ? code : describeError(error);
}
