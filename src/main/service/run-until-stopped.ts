import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { Interrupted } from '../program/process.ts';
import type { Service } from './start.ts';

/** How long the process may take to close the storage after `SHUTDOWN_DELAY` and `SHUTDOWN_TIMEOUT`. */
const CLOSE_MS = 3_000;

type Options = {
  readonly config: Pick<Config, 'shutdownDelayMs' | 'shutdownTimeoutMs' | 'tracing'>;
  readonly log: Logger;
  /** Aborted with an {@link Interrupted}, or with a text for the log. */
  readonly signal: AbortSignal;
};

/**
 * Starts a service, and stops it at an interruption or a bug. Then nothing keeps the process alive.
 *
 * @returns the service, when it listens
 * @throws what `start` throws
 */
export async function runUntilStopped(
  start: () => Promise<Service>,
  { config, log, signal }: Options,
): Promise<Service> {
  let service: Service | undefined = undefined;
  let stopping = false;

  const stop = (reason: string) => {
    // The terminal and npm both send the signal of one Ctrl-C.
    if (stopping) return;
    stopping = true;
    const stopped = service?.stop();
    log.info({ reason }, 'shutting down');
    // The service does not listen yet: nothing is in flight, and every step of a start can be repeated.
    if (stopped === undefined) process.exit();
    log.flush();
    stopped.then(onStopped, crash);
    setTimeout(
      () => {
        log.fatal('still not stopped, giving up');
        process.exit(1);
      },
      config.shutdownDelayMs + config.shutdownTimeoutMs + CLOSE_MS,
    ).unref();
  };
  const onStopped = (cutOff: number) => {
    log.info({ cutOff }, 'stopped');
    // An export to a receiver of traces that hangs would keep the process alive.
    if (config.tracing !== undefined) process.exit();
  };
  const crash = (err: unknown) => {
    log.fatal({ err }, 'stopping because of a bug');
    process.exitCode = 1;
    stop('bug');
  };
  const onAbort = () => {
    const reason: unknown = signal.reason;
    stop(reason instanceof Interrupted ? reason.signal : String(reason));
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  // Unhandled rejections arrive here too.
  process.on('uncaughtException', crash);

  service = await start();
  return service;
}
