import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { RequestLog } from '../contract/request-log.ts';
import type { ClientError } from './broken-request.ts';
import { throttleCounts } from './throttle-counts.ts';

/**
 * The connections in their TLS handshake. HTTP does not know them yet, but they count for `maxConnections`. Node closes
 * one that fails or takes too long.
 */
export class Handshakes {
  /** By the address of the client. Node does not say which TCP socket is below a TLS socket. */
  readonly #sockets = new Map<string, Socket>();

  constructor(server: Server, log: Pick<RequestLog, 'connectionTrouble'>) {
    server.on('connection', (socket: Socket) => {
      const client = addressOf(socket);
      this.#sockets.set(client, socket);
      socket.once('close', () => {
        if (this.#sockets.get(client) === socket) this.#sockets.delete(client);
      });
    });
    server.on('secureConnection', (socket) => this.#sockets.delete(addressOf(socket)));
    server.on('tlsClientError', reportTo(log));
  }

  closeAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function reportTo(log: Pick<RequestLog, 'connectionTrouble'>): (error: ClientError) => void {
  let hasSeenPlain = false;
  let reason = '';
  const onFailed = throttleCounts((connections) =>
    log.connectionTrouble({ kind: 'handshake', connections, reason }),
  );
  return ({ code = 'unknown' }) => {
    // The client has left, as health checks of the TCP port do.
    if (code === 'ECONNRESET') return;
    if (code === 'ERR_SSL_HTTP_REQUEST') {
      if (!hasSeenPlain) log.connectionTrouble({ kind: 'not-tls' });
      hasSeenPlain = true;
      return;
    }
    reason = code;
    onFailed(1);
  };
}
