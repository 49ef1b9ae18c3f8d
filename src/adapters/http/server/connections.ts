import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Connection, type ConnectionOptions } from './connection.ts';

/** The share of the limit in use after a cut. A greater share would cause another cut after a few requests. */
const SHARE_AFTER_CUT = 0.75;

/** How often the memory is measured while requests are in progress, in milliseconds. */
const MEASURE_INTERVAL_MS = 50;

export type ConnectionsOptions = {
  readonly handle: RequestListener;
  /** How many bytes all connections together may hold in memory. Beyond it, those that hold the most are cut off. */
  readonly maxHeldBytes: number;
  /** Called when connections were cut off because of `maxHeldBytes`. */
  readonly onCutOff: () => void;
};

/** The open connections of a server. */
export class Connections implements ConnectionOptions {
  readonly #bySocket = new Map<unknown, Connection>();
  /** Those in their TLS handshake included. Node does not say which of them is below a TLS socket. */
  readonly tcpSockets = new Set<Socket>();
  readonly #options: ConnectionsOptions;
  readonly #turns = new Set<() => void>();
  isDraining = false;
  #measuring: NodeJS.Timeout | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  readonly handle: RequestListener = (request, response) => {
    this.#measureLater();
    this.#options.handle(request, response);
  };

  all(): MapIterator<Connection> {
    return this.#bySocket.values();
  }

  addTcp(socket: Socket): void {
    this.tcpSockets.add(socket);
    socket.once('close', () => this.tcpSockets.delete(socket));
  }

  add(socket: Socket): void {
    this.#bySocket.set(socket, new Connection(socket, this));
    socket.once('close', () => this.#bySocket.delete(socket));
  }

  /** The connection on this socket, or `undefined` if it is closed. */
  of(socket: unknown): Connection | undefined {
    return this.#bySocket.get(socket);
  }

  readonly runInTurn = (task: () => void) => {
    if (this.#turns.size === 0) setImmediate(this.#runNext);
    this.#turns.add(task);
  };

  readonly #runNext = () => {
    const [task] = this.#turns;
    this.#turns.delete(task!);
    if (this.#turns.size > 0) setImmediate(this.#runNext);
    task!();
  };

  #measureLater(): void {
    if (this.#measuring !== undefined) return;
    this.#measuring = setTimeout(this.#measure, MEASURE_INTERVAL_MS).unref();
  }

  readonly #measure = () => {
    let heldBytes = 0;
    let isBusy = false;
    for (const connection of this.all()) {
      heldBytes += connection.heldBytes;
      isBusy ||= connection.isAnswering;
    }
    this.#measuring = undefined;
    // A request in progress can fill the memory even if no other request comes.
    if (isBusy) this.#measureLater();
    if (heldBytes > this.#options.maxHeldBytes) this.#cut(heldBytes);
  };

  #cut(heldBytes: number): void {
    const { maxHeldBytes, onCutOff } = this.#options;
    const all = this.all().map(({ socket, heldBytes: bytes }) => ({ socket, bytes }));
    let leftBytes = heldBytes;
    for (const { socket, bytes } of all.toArray().toSorted((a, b) => b.bytes - a.bytes)) {
      if (leftBytes <= maxHeldBytes * SHARE_AFTER_CUT) break;
      socket.destroy();
      leftBytes -= bytes;
    }
    onCutOff();
  }
}
