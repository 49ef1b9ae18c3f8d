import type { Logger } from 'pino';
import type { RequestLog } from '../../adapters/http/wire/request-log.ts';
import type { ServiceStorage } from '../../application/ports/storage.ts';
import type { Config } from '../config/config.ts';
import type { Decorators } from '../program/compose.ts';
import { requestLog } from '../log/request-log.ts';

/** Adds spans to the parts of the service. */
export type Tracing = {
  storage(storage: ServiceStorage): ServiceStorage;
  /** For the use cases and the HTTP application. */
  readonly decorators: Decorators;
  /** Writes the reports of the HTTP adapter to the log. It ends the spans of requests. */
  requestLog(log: Logger): RequestLog;
  /** Sends the last spans, for a second at most. Call it when the service has drained. */
  stop(): Promise<void>;
};

/** No spans: every part stays as it is. */
const NO_TRACING: Tracing = {
  storage: (storage) => storage,
  decorators: {},
  requestLog,
  stop: async () => {},
};

/** Starts the tracing of this process. The SDK of OpenTelemetry is loaded only if traces are on. */
export async function loadTracing(
  config: Pick<Config, 'tracing' | 'publicUrl' | 'trustProxy' | 'storage'>,
  log: Logger,
): Promise<Tracing> {
  if (config.tracing === undefined) return NO_TRACING;
  const { openTracing } = await import('./open-tracing.ts');
  return openTracing(config.tracing, config, log);
}
