import { Server } from 'node:net';
import type { Duplex } from 'node:stream';

/** The fields of a `net.Server` that its own sockets use: https://github.com/nodejs/node/blob/v26.0.0/lib/net.js */
type Internals = {
  _handle: { close(): void } | null;
  _connections: number;
  _emitCloseIfDrained(): void;
};

/**
 * The operating system below a server of Node: it listens without a port, and hands over connections that are made
 * here. Node's server counts them and waits for them as for real ones.
 */
export class ListeningModel {
  #server: (Server & Internals) | undefined;

  /** Runs `listen`, whose server then listens here. */
  async listening<T>(listen: () => Promise<T>): Promise<T> {
    const real = Server.prototype.listen;
    const onListen = (server: Server & Internals) => {
      this.#server = server;
      // Node frees the address here.
      Object.assign(server, { _handle: { close: () => undefined } });
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

  /** A client has connected. */
  accept(socket: Duplex): void {
    const server = this.#server!;
    server._connections++;
    socket.once('close', () => {
      server._connections--;
      server._emitCloseIfDrained();
    });
    server.emit('connection', socket);
  }
}
