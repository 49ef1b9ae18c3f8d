// What the collections are made with (see schema.ts): no call can forget it.

/** Reads what can no longer be rolled back, from the member that takes the writes. */
export const SETTLED = { readPreference: 'primary', readConcern: { level: 'majority' } } as const;

/** Writes what can no longer be rolled back. */
export const DURABLE = { w: 'majority', journal: true } as const;

/** How long a write may wait for a majority, unless the connection string says otherwise. */
export const WRITE_TIMEOUT_MS = 5_000;
