import type { IncomingMessage, RequestListener } from 'node:http';
import type { Logger } from 'pino';
import type { RequestLog } from '../../adapters/http/wire/request-log.ts';
import type { UseCase } from '../../adapters/tracing/trace-use-case.ts';
import type { ServiceStorage } from '../../application/ports/storage.ts';
import { requestLog } from '../log/request-log.ts';

/** Adds spans to the parts of the service. */
export type Tracing = {
  storage(storage: ServiceStorage): ServiceStorage;
  useCase<Input extends readonly unknown[], Output>(
    name: string,
    useCase: UseCase<Input, Output>,
  ): UseCase<Input, Output>;
  /** @param baseUrl the base of the absolute URLs in an answer */
  requests(app: RequestListener, baseUrl: (request: IncomingMessage) => string): RequestListener;
  /** Writes the reports of the HTTP adapter to the log. It ends the spans of requests. */
  requestLog(log: Logger): RequestLog;
  /** Sends the last spans, for a second at most. Call it when the service has drained. */
  stop(): Promise<void>;
};

/** No spans: every part stays as it is. */
export const NO_TRACING: Tracing = {
  storage: (storage) => storage,
  useCase: (_name, useCase) => useCase,
  requests: (app) => app,
  requestLog,
  stop: async () => {},
};
