import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/main/config/config.ts';
import { type Service, start, type StartOptions } from '../../src/main/service/start.ts';
import { KEY } from './client.ts';

type LogLine = Readonly<Record<string, unknown>>;

export type StartedService = Service & {
  readonly log: readonly LogLine[];
  /** The first log line with this message, now or later. */
  readonly logged: (message: RegExp) => Promise<LogLine>;
};

/**
 * A service in this process. It takes a free port, keeps its pets in memory and knows {@link KEY}, where `env` says
 * nothing else. It stops when the running test ends.
 */
export async function startService(
  env: Readonly<Record<string, string>> = {},
  options: StartOptions = {},
): Promise<StartedService> {
  const log: LogLine[] = [];
  const news = new EventEmitter();
  const write = (line: string) => {
    log.push(JSON.parse(line) as LogLine);
    news.emit('line');
  };
  const config = readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: 'memory:', ...env });
  const logger = pino({ level: env['LOG_LEVEL'] ?? 'info', base: null }, { write });
  const service = await start(config, logger, options);
  onTestFinished(async () => void (await service.stop()));
  const logged = async (message: RegExp) => {
    for (;;) {
      const line = log.find(({ msg }) => message.test(String(msg)));
      if (line !== undefined) return line;
      await once(news, 'line');
    }
  };
  return { ...service, log, logged };
}
