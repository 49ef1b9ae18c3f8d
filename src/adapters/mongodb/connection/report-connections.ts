import type { ConnectionPoolEvents, MongoClient } from 'mongodb';
import type { ConnectionEvent, StorageMeter } from '../../../application/ports/storage-meter.ts';

/** The driver's events of a pool: https://www.mongodb.com/docs/drivers/node/current/monitoring-and-logging/monitoring/ */
const EVENTS = {
  connectionCreated: 'opened',
  connectionClosed: 'closed',
  connectionCheckOutStarted: 'requested',
  connectionCheckedOut: 'taken',
  connectionCheckOutFailed: 'refused',
  connectionCheckedIn: 'returned',
} as const satisfies Partial<Record<keyof ConnectionPoolEvents, ConnectionEvent>>;

/** Reports the connections of all pools of a client: the driver keeps one for each server. Call it before connecting. */
export function reportConnections(client: MongoClient, meter: StorageMeter): void {
  for (const [name, event] of Object.entries(EVENTS)) client.on(name, () => meter.connection(event));
}
