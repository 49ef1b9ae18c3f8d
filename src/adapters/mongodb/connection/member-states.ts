import type { TopologyDescription } from 'mongodb';
import { described } from './mongo-errors.ts';

/** The type of each member, as the driver calls it, or the reason why the member cannot be used. In one line. */
export function memberStates({ servers }: TopologyDescription): string {
  const states = Array.from(
    servers.values(),
    ({ address, type, error }) => `${address}: ${error ? reasonOf(error) : type}`,
  );
  // The time that an attempt took would make every reason a new one.
  return states.join(', ').replaceAll(/ after \d+ms/g, '');
}

/** The code of the socket error, such as ECONNREFUSED. Some texts of OpenSSL have several lines. */
function reasonOf(error: Error): string {
  const code = error.cause instanceof Error && 'code' in error.cause ? error.cause.code : undefined;
  return typeof code === 'string' ? code : described(error);
}
