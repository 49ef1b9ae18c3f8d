import { CREATE_KEY } from './start-keys.ts';
import type { Config } from '../config/config.ts';
import { Interrupted } from '../interrupted.ts';
import { openServiceLog, openStandardError } from '../log/service-log.ts';
import { type Service, start } from './start.ts';

/** How long the process may take to close the storage after `SHUTDOWN_TIMEOUT`. */
const CLOSE_MS = 3_000;

/**
 * Starts the service, which runs until an interruption or a bug ends it.
 *
 * @param interruption aborted with an {@link Interrupted}
 * @throws what `start` throws
 */
export async function serve(config: Config, interruption: AbortSignal): Promise<void> {
  const standardError = openStandardError();
  const log = await openServiceLog(config, standardError);
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
    stopped.then((cutOff) => log.info({ cutOff }, 'stopped'), crash);
    setTimeout(() => {
      log.fatal('still not stopped, giving up');
      process.exit(1);
    }, config.shutdownTimeoutMs + CLOSE_MS).unref();
  };
  const crash = (err: unknown) => {
    log.fatal({ err }, 'stopping because of a bug');
    process.exitCode = 1;
    stop('bug');
  };
  const onAbort = () => {
    const reason: unknown = interruption.reason;
    stop(reason instanceof Interrupted ? reason.signal : String(reason));
  };
  if (interruption.aborted) onAbort();
  interruption.addEventListener('abort', onAbort);
  // Unhandled rejections arrive here too.
  process.on('uncaughtException', crash);

  service = await start(config, log);
  const { url, metricsUrl, madeKey } = service;
  log.info({ url }, `listening on ${url}`);
  if (metricsUrl !== undefined) log.info({ metricsUrl }, `metrics at ${metricsUrl}`);
  // Flushed at once, because scripts wait for this line.
  log.flush(() => {
    if (madeKey === undefined) return;
    // A key never goes into the log.
    const lasting = config.storage.persistent ? `To create a lasting key:\n\n  ${CREATE_KEY}\n\n` : '';
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl -H 'Authorization: Bearer ${madeKey}' '${url}/v1/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n${lasting}`,
    );
    standardError.flush();
  });
}
