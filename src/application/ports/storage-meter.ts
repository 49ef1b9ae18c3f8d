/** What happens to a connection of the storage, and to a call that asks for one. */
export type ConnectionEvent =
  | 'opened'
  | 'closed'
  /** A call asks for a connection, and waits until it is taken or refused. */
  | 'requested'
  | 'taken'
  | 'refused'
  | 'returned';

/** Takes figures that only the inside of a storage knows. No method throws. */
export interface StorageMeter {
  /** One commit settled `inserts` inserts: those that come together share it. */
  insertsCommitted(inserts: number): void;

  /** For a storage that keeps a pool of connections. */
  connection(event: ConnectionEvent): void;
}
