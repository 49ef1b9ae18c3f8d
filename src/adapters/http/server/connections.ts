import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Connection } from './connection.ts';
import { MemoryLimit } from './memory-limit.ts';
import { RoundRobin } from './round-robin.ts';

export type ConnectionsOptions = {
  readonly handle: RequestListener;
  /** How many bytes all connections together may hold in memory. */
  readonly maxHeldBytes: number;
  /** Called with how many connections were cut off because of `maxHeldBytes`. */
  readonly onCutOff: (connections: number) => void;
};

/** The open connections of a server. */
export class Connections {
  readonly #bySocket = new Map<unknown, Connection>();
  readonly #roundRobin = new RoundRobin();
  readonly #handle: RequestListener;
  #isDraining = false;

  constructor({ handle, maxHeldBytes, onCutOff }: ConnectionsOptions) {
    const memoryLimit = new MemoryLimit(() => this.all(), { maxHeldBytes, onCutOff });
    this.#handle = (request, response) => {
      memoryLimit.watch();
      handle(request, response);
    };
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  all(): MapIterator<Connection> {
    return this.#bySocket.values();
  }

  add(socket: Socket): void {
    const connection = new Connection(socket, {
      roundRobin: this.#roundRobin,
      handle: this.#handle,
      isDraining: () => this.#isDraining,
    });
    this.#bySocket.set(socket, connection);
    this.#roundRobin.onNewConnection();
    socket.once('close', () => this.#bySocket.delete(socket));
  }

  /** The connection on this socket, or `undefined` if it is closed. */
  of(socket: unknown): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  /** Makes the last answer on each connection, from now on, say that it is the last. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.all()) connection.closeAfterLatest();
  }
}
