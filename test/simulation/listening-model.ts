import { Server } from 'node:net';
import type { SocketModel } from './socket-model.ts';

/** The fields of a `net.Server` that its own sockets use: https://github.com/nodejs/node/blob/v26.0.0/lib/net.js */
type Internals = {
  _handle: { close(): void } | null;
  _connections: number;
  _emitCloseIfDrained(): void;
};

/**
 * The operating system below a server of Node: it listens without a port, and hands over connections that are made
 * here. Node's server counts them and waits for them as for real ones.
 *
 * Its flaw `never-closes` forgets to report one closed connection.
 */
export class ListeningModel {
  readonly #flaw: string | undefined;
  #server: (Server & Internals) | undefined;

  constructor(flaw: string | undefined) {
    this.#flaw = flaw;
  }

  /** Runs `listen`, whose server then listens here. */
  async listening<T>(listen: () => Promise<T>): Promise<T> {
    const real = Server.prototype.listen;
    const onListen = (server: Server & Internals) => {
      this.#server = server;
      // Node frees the address here.
      Object.assign(server, { _handle: { close: () => undefined } });
      if (this.#flaw === 'drops-requests' && 'closeAllConnections' in server) {
        Object.assign(server, { closeIdleConnections: server.closeAllConnections });
      }
      process.nextTick(() => server.emit('listening'));
    };
    Server.prototype.listen = function listenHere(this: Server) {
      onListen(this as Server & Internals);
      return this;
    };
    try {
      return await listen();
    } finally {
      Server.prototype.listen = real;
    }
  }

  get isListening(): boolean {
    return this.#server?._handle != null;
  }

  /** A client has connected. */
  accept(socket: SocketModel): void {
    const server = this.#server!;
    server._connections++;
    socket.once('close', () => {
      if (this.#flaw === 'never-closes') return;
      server._connections--;
      server._emitCloseIfDrained();
    });
    server.emit('connection', socket);
  }
}
