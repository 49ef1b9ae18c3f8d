import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type HttpServer, listen } from '../../adapters/http/server/listen.ts';
import { type ServerLimits } from '../../adapters/http/wire/limits.ts';
import { InMemoryTokenVerifier } from '../../adapters/memory/token-verifier.ts';
import { StoredTokenVerifier } from '../../adapters/tokens/stored-token-verifier.ts';
import { EitherTokenVerifier } from '../../application/keys/either-token-verifier.ts';
import { startKeys } from './start-keys.ts';
import type { Config } from '../config/config.ts';
import { APP, compose } from '../compose.ts';
import { auditLog } from '../log/audit-log.ts';
import { requestLog } from '../log/request-log.ts';
import { openStorage } from '../storages.ts';

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
  /** How often it is written down which keys have been used, in milliseconds. */
  readonly recordUsesEvery?: number;
  readonly limits?: Partial<ServerLimits>;
};

/** More often than a use is written for one key, so that the first one is seen soon. */
const RECORD_USES_EVERY = 10_000;

/** How long a stop may take to write down the last uses, in milliseconds. */
const LAST_USES_MS = 1_000;

/** Opens the storage, wires the adapters and listens. Whatever it opened is closed again when a later step fails. */
export async function start(config: Config, log: Logger, options: StartOptions = {}): Promise<Service> {
  const storage = await openStorage(config, { warn: (message) => log.warn(message) });
  try {
    const { now = () => new Date() } = options;
    const keys = await startKeys(config, storage.keys, (message) => log.warn(message));
    const stored = new StoredTokenVerifier(storage.keys, now);
    const requests = requestLog(log);
    const app = compose({
      pets: storage.pets,
      probe: storage.probe,
      tokens:
        keys.known.length === 0
          ? stored
          : new EitherTokenVerifier(new InMemoryTokenVerifier(keys.known), stored),
      limiter: storage.limiter,
      rateLimit: config.RATE_LIMIT,
      trustProxy: config.TRUST_PROXY,
      corsOrigins: config.CORS_ORIGINS ?? [],
      log: requests,
      now,
      publicUrl: config.PUBLIC_URL,
      isDraining: () => server.isDraining,
    }).resolve(APP);
    const server: HttpServer = await listen(app, {
      host: config.HOST,
      port: config.PORT,
      log: requests,
      limits: { maxConnections: config.MAX_CONNECTIONS, ...options.limits },
    });
    const recordUses = async () => {
      await stored
        .recordUses()
        .catch((err: unknown) => log.warn({ err }, 'the use of keys was not recorded'));
    };
    const recording = setInterval(() => void recordUses(), options.recordUsesEvery ?? RECORD_USES_EVERY);
    const stop = async () => {
      const cutOff = await server.drain(config.SHUTDOWN_TIMEOUT);
      clearInterval(recording);
      // Not for as long as a storage that is away may take: nobody waits for it.
      await Promise.race([recordUses(), sleep(LAST_USES_MS, undefined, { ref: false })]);
      await storage.close();
      return cutOff;
    };
    if (keys.made !== undefined) {
      auditLog(log).info({ audit: 'key.made', keyId: keys.made.id, keyLabel: 'start' }, 'audit');
    }
    let stopped: Promise<number> | undefined;
    const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST;
    return {
      url: `http://${host}:${server.port}`,
      madeKey: keys.made?.token,
      stop: () => (stopped ??= stop()),
    };
  } catch (error) {
    await storage.close();
    throw error;
  }
}
