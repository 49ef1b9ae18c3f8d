import { EventEmitter } from 'node:events';
import { pino } from 'pino';
import { onTestFinished, vi } from 'vitest';
import { readConfig } from '../../src/main/config/config.ts';
import { STORAGES } from '../../src/main/config/storages.ts';
import { type Service, start, type StartOptions } from '../../src/main/service/start.ts';
import { KEY } from './client.ts';
import { waitFor } from './wait-for.ts';

type LogLine = Readonly<Record<string, unknown>>;

export type StartedService = Service & {
  readonly log: readonly LogLine[];
  /** Waits for the first log line whose message matches. */
  readonly logged: (message: RegExp) => Promise<LogLine>;
};

/**
 * Starts a service in this process. By default it has a free port, its pets in memory, and {@link KEY}; `env` replaces
 * these settings. The service stops when the running test ends.
 */
export async function startService(
  env: Readonly<Record<string, string>> = {},
  options: StartOptions = {},
  storages = STORAGES,
): Promise<StartedService> {
  const log: LogLine[] = [];
  const events = new EventEmitter();
  const write = (line: string) => {
    log.push(JSON.parse(line) as LogLine);
    events.emit('line');
  };
  const config = readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: 'memory:', ...env }, storages);
  const logger = pino({ level: env['LOG_LEVEL'] ?? 'info', base: null }, { write });
  const service = await start(config, logger, options);
  onTestFinished(async () => {
    // The test may have stopped the clock, and a drain with a stopped clock would last until its timeout.
    vi.useRealTimers();
    await service.stop();
  });
  const logged = (message: RegExp) => {
    return waitFor(events, 'line', () => log.find(({ msg }) => message.test(String(msg))));
  };
  return { ...service, log, logged };
}
