import { listen, type ServerLimits } from '../adapters/http/server.ts';
import { InMemoryRateLimiter } from '../adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier } from '../adapters/memory/token-verifier.ts';
import type { Logger } from 'pino';
import { startKeys } from './api-keys.ts';
import type { Config } from './config.ts';
import { APP, compose } from './container.ts';
import { requestLog } from './log.ts';
import { openStorage } from './storage.ts';

export type Service = {
  /** Where it listens, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  /** The API key that was made for this start, if one was. */
  readonly madeKey: string | undefined;
  /** Drains and closes; safe to call again. Resolves with how many connections had to be cut off. */
  stop(): Promise<number>;
};

export type StartOptions = {
  readonly now?: () => Date;
  readonly limits?: Partial<ServerLimits>;
};

/** Opens the storage, wires the adapters and listens. Whatever it opened is closed again when a later step fails. */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const keys = startKeys(config);
  const storage = await openStorage(config);
  try {
    let draining = false;
    const requests = requestLog(log);
    const app = compose({
      pets: storage.pets,
      probe: storage.probe,
      tokens: new InMemoryTokenVerifier(keys.known),
      log: requests,
      now: options.now ?? (() => new Date()),
      publicUrl: config.PUBLIC_URL,
      limiter: new InMemoryRateLimiter(),
      rateLimit: undefined,
      trustProxy: false,
      corsOrigins: [],
      isDraining: () => draining,
    }).resolve(APP);
    const server = await listen(app, {
      host: config.HOST,
      port: config.PORT,
      log: requests,
      limits: options.limits ?? {},
    });
    const stop = async () => {
      draining = true;
      const cutOff = await server.drain(config.SHUTDOWN_TIMEOUT);
      await storage.close();
      return cutOff;
    };
    let stopped: Promise<number> | undefined;
    const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
    return { url: `http://${host}:${server.port}`, madeKey: keys.made, stop: () => (stopped ??= stop()) };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
