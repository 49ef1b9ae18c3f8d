// For what has to be so whatever the connection string says.

/** Reads what can no longer be rolled back, from the member that takes the writes. */
export const SETTLED = { readPreference: 'primary', readConcern: { level: 'majority' } } as const;

/** Writes what can no longer be rolled back. */
export const DURABLE = { writeConcern: { w: 'majority', journal: true, wtimeoutMS: 5_000 } } as const;
