import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BODY_LIMIT } from './body.ts';
import { limitRest } from './limit-rest.ts';

/**
 * How many requests of a connection may wait for their turn. Node never stops in the middle of a segment, so that
 * one that holds thousands of requests would cost megabytes.
 */
export const PIPELINE_LIMIT = 200;

/** From so many waiting requests on, nothing more is read from the connection until all of them have begun. */
const READ_AHEAD = 16;

/**
 * How much may be held for all clients together, in bytes: answers that they have not taken and requests that wait.
 * Beyond it, the connections for which most is held are cut off.
 */
export const HELD_LIMIT = 64 * 1024 * 1024;

/** Down to here: to cut off again at the next request would cost more than it frees. */
const HELD_AFTER_CUT = 0.75;

/** What a request costs that waits, or whose answer does, in bytes: some 3 KiB were measured. */
const REQUEST_BYTES = 4 * 1024;

/** What a string costs besides its characters, in bytes. */
const STRING_BYTES = 32;

/** How often it is looked how much is held while requests begin, in milliseconds. */
const LOOK_INTERVAL = 50;

/** It is also looked when so many more requests wait: parsing is faster than the clock. */
const LOOK_AFTER = 1024;

type Connection = {
  readonly socket: Socket;
  /** The response to the last request that has come. */
  latest: ServerResponse | undefined;
  /** The requests that have not begun, in their order. */
  readonly waiting: Waiting[];
  /** What these cost together, in bytes. */
  waitingBytes: number;
};

type Waiting = { readonly response: ServerResponse; readonly bytes: number };

export type PipelinesOptions = {
  readonly handle: RequestListener;
  /** See {@link HELD_LIMIT}. */
  readonly heldLimit: number;
  /** Connections were cut off because of it. */
  readonly onCut: (connections: number) => void;
};

/**
 * The connections of a server. Of each, one request is in progress at a time: the next one begins when the operating
 * system has taken the whole answer before it. So a client that reads nothing costs one answer.
 */
export class Pipelines {
  readonly #options: PipelinesOptions;
  readonly #connections = new Map<unknown, Connection>();
  /** Those whose next request may begin, in the order in which they take turns. */
  readonly #ready: Connection[] = [];
  #looking = false;
  #waitingSinceLook = 0;
  #draining = false;

  constructor(options: PipelinesOptions) {
    this.#options = options;
  }

  get sockets(): IteratorObject<Socket, unknown> {
    return this.#connections.values().map(({ socket }) => socket);
  }

  add(socket: Socket): void {
    this.#connections.set(socket, { socket, latest: undefined, waiting: [], waitingBytes: 0 });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** The response to the last request that has come on this connection. */
  latest(socket: unknown): ServerResponse | undefined {
    return this.#connections.get(socket)?.latest;
  }

  /** Whether requests of this connection wait; it may not be read from for as long. */
  isWaiting(socket: unknown): boolean {
    return (this.#connections.get(socket)?.waiting.length ?? 0) > 0;
  }

  /** From now on the last answer on each connection says that it is the last. */
  drain(): void {
    this.#draining = true;
    for (const { latest } of this.#connections.values()) {
      if (latest !== undefined && !latest.headersSent) latest.shouldKeepAlive = false;
    }
  }

  /** A request has come. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.socket.destroyed) return;
    const { latest, waiting } = connection;
    // Behind an answer that says "close", nothing is processed any more: RFC 9112, section 9.6.
    if (latest?.headersSent && !latest.shouldKeepAlive) return;
    if (this.#draining) {
      // One that does not say it yet must not, or the answer to this request would never be sent.
      if (latest !== undefined) latest.shouldKeepAlive = true;
      response.shouldKeepAlive = false;
    }
    connection.latest = response;
    response.once('finish', () => {
      limitRest(request);
      if (waiting.length > 0) this.#next(connection, response);
    });
    if (waiting.length === 0 && (latest === undefined || latest.writableFinished)) {
      this.#begin(request, response);
    } else {
      this.#wait(connection, response);
    }
  }

  #wait(connection: Connection, response: ServerResponse): void {
    const { socket, waiting } = connection;
    const bytes = costOf(response.req);
    connection.waitingBytes += bytes;
    const length = waiting.push({ response, bytes });
    if (length === READ_AHEAD) socket.pause();
    if (length >= PIPELINE_LIMIT) socket.destroy();
    if (++this.#waitingSinceLook === LOOK_AFTER) this.#look();
  }

  #next(connection: Connection, finished: ServerResponse): void {
    if (!finished.shouldKeepAlive) {
      connection.waiting.length = 0;
      return;
    }
    if (this.#ready.push(connection) === 1) setImmediate(this.#turn);
  }

  /** Begins one request, and lets others have their turn before the next. */
  readonly #turn = () => {
    const connection = this.#ready.shift();
    if (this.#ready.length > 0) setImmediate(this.#turn);
    const next = connection?.waiting.shift();
    if (connection === undefined || next === undefined) return;
    const { response, bytes } = next;
    connection.waitingBytes -= bytes;
    if (connection.waiting.length === 0) connection.socket.resume();
    // What cannot be understood of its body may have been answered already.
    if (!connection.socket.destroyed && !response.headersSent) this.#begin(response.req, response);
  };

  #begin(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#looking) {
      this.#looking = true;
      setTimeout(() => {
        this.#looking = false;
        this.#look();
      }, LOOK_INTERVAL).unref();
    }
    this.#options.handle(request, response);
  }

  #look(): void {
    this.#waitingSinceLook = 0;
    let held = 0;
    for (const connection of this.#connections.values()) held += heldFor(connection);
    const { heldLimit, onCut } = this.#options;
    if (held <= heldLimit) return;
    const greediest = this.#connections
      .values()
      .map((connection) => ({ socket: connection.socket, bytes: heldFor(connection) }))
      .toArray()
      .toSorted((a, b) => b.bytes - a.bytes);
    let cut = 0;
    for (const { socket, bytes } of greediest) {
      if (held <= heldLimit * HELD_AFTER_CUT) break;
      socket.destroy();
      held -= bytes;
      cut++;
    }
    onCut(cut);
  }
}

/** How much is held for this client, in bytes. */
function heldFor({ socket, latest, waitingBytes }: Connection): number {
  if (socket.destroyed) return 0;
  const unread = socket.writableLength;
  const inProgress = latest !== undefined && !latest.headersSent ? bodyLength(latest.req) : 0;
  return waitingBytes + inProgress + (unread > 0 ? unread + REQUEST_BYTES : 0);
}

function costOf(request: IncomingMessage): number {
  const { url = '', rawHeaders } = request;
  return rawHeaders.reduce(
    (sum, text) => sum + text.length + STRING_BYTES,
    REQUEST_BYTES + url.length + bodyLength(request),
  );
}

/** How much of a body may have come, in bytes. */
function bodyLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return BODY_LIMIT;
  return Math.min(Number(headers['content-length'] ?? 0), BODY_LIMIT);
}
