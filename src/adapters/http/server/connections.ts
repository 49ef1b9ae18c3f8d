import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { Connection } from './connection.ts';
import { Turns } from './turns.ts';

/** Down to here, of its limit: to cut off again after a few more requests would cost more than it frees. */
const HELD_AFTER_CUT = 0.75;

/** How often it is looked how much is held, in milliseconds. */
const LOOK_INTERVAL = 50;

export type ConnectionsOptions = {
  readonly begin: RequestListener;
  /** How much may be held for all clients together, in bytes. */
  readonly heldLimit: number;
  /** So many connections were cut off because of it. */
  readonly onCut: (connections: number) => void;
};

/** The connections of a server. When too much is held for them, those for which most is are cut off. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Map<unknown, Connection>();
  readonly #turns = new Turns();
  #looks = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  all(): MapIterator<Connection> {
    return this.#all.values();
  }

  add(socket: Socket): void {
    this.#all.set(socket, new Connection(socket, this.#turns, this.#begin));
    this.#turns.giveWay();
    socket.once('close', () => this.#all.delete(socket));
  }

  /** `undefined` when it has been closed. */
  of(socket: unknown): Connection | undefined {
    return this.#all.get(socket);
  }

  /** From now on the last answer on each connection says that it is the last. */
  drain(): void {
    for (const connection of this.#all.values()) connection.drain();
  }

  readonly #begin: RequestListener = (request, response) => {
    if (!this.#looks) this.#lookLater();
    this.#options.begin(request, response);
  };

  #lookLater(): void {
    this.#looks = true;
    setTimeout(this.#look, LOOK_INTERVAL).unref();
  }

  readonly #look = () => {
    let held = 0;
    let isBusy = false;
    for (const connection of this.#all.values()) {
      held += connection.held;
      isBusy ||= connection.isInProgress;
    }
    this.#looks = false;
    // Its answer may come when no other request does.
    if (isBusy) this.#lookLater();
    if (held > this.#options.heldLimit) this.#cut(held);
  };

  #cut(held: number): void {
    const { heldLimit, onCut } = this.#options;
    const greediest = this.#all
      .values()
      .map(({ socket, held: bytes }) => ({ socket, bytes }))
      .toArray()
      .toSorted((a, b) => b.bytes - a.bytes);
    let left = held;
    let cut = 0;
    for (const { socket, bytes } of greediest) {
      if (left <= heldLimit * HELD_AFTER_CUT) break;
      socket.destroy();
      left -= bytes;
      cut++;
    }
    onCut(cut);
  }
}
