import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { pino } from 'pino';
import { readConfig } from '../../src/main/config/config.ts';
import { start } from '../../src/main/service/start.ts';
import { PEM_FILES } from '../../test/support/tls/pem-files.ts';
import { FUZZ_KEY, FUZZ_LIMITS } from './fuzz-limits.ts';

/** What the service holds, as it tells its parent. */
export type Held = {
  /** In use after a garbage collection. */
  readonly heapBytes: number;
  readonly externalBytes: number;
  readonly rssBytes: number;
  /** What keeps the event loop alive, such as sockets and timers. */
  readonly resources: number;
  readonly descriptors: number;
};

export type TargetMessage =
  | { readonly port: number }
  | { readonly held: Held }
  | { readonly failure: string };

/** The connections of clients. */
const sockets = new Set<Socket>();

/** The service, with short limits, in a process of its own. Its parent asks it what it holds. */
async function main(databaseUrl: string, tls: boolean): Promise<void> {
  const tell = (message: TargetMessage) => process.send?.(message);
  const log = pino(
    { level: 'warn', base: null },
    {
      write: (line: string) => {
        // Neither a report of connections nor an audit line says that something failed.
        if (/^\{"level":[56]0/.test(line) && !line.includes('"audit":')) tell({ failure: line });
      },
    },
  );
  subscribe('net.server.socket', (event) => {
    const { socket } = event as { readonly socket: Socket };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: databaseUrl,
    API_KEYS: FUZZ_KEY,
    ...(tls && { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }),
  });
  const service = await start(config, log, { limits: FUZZ_LIMITS });
  process.on('message', () => void whenIdle().then(() => tell({ held: held() })));
  process.on('disconnect', () => void service.stop());
  tell({ port: Number(new URL(service.url).port) });
}

/** Resolves when no connection is open. Some stay open a second after their last answer. */
async function whenIdle(): Promise<void> {
  for (const socket of sockets) await once(socket, 'close');
}

function held(): Held {
  // With --expose-gc.
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heapBytes: heapUsed,
    externalBytes: external,
    rssBytes: rss,
    resources: process.getActiveResourcesInfo().length,
    descriptors: readdirSync('/dev/fd').length,
  };
}

const [databaseUrl = 'memory:', tls = 'plain'] = process.argv.slice(2);
await main(databaseUrl, tls === 'tls');
