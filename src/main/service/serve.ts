import { CREATE_KEY } from './start-keys.ts';
import type { Config } from '../config/config.ts';
import { Interrupted } from '../interrupted.ts';
import { openServiceLog, openStandardError } from '../log/service-log.ts';
import type { Io } from '../command-line/session.ts';
import { type Service, start } from './start.ts';

type Signals = Pick<Io, 'signal' | 'onHangUp'>;

/** How long the process may take to close the storage after `SHUTDOWN_TIMEOUT`. */
const CLOSE_MS = 3_000;

/**
 * Starts the service, which runs until an interruption or a bug ends it.
 *
 * With TLS, a hang-up (SIGHUP) makes it read its certificate again. Without TLS there is nothing to read again, and a
 * hang-up interrupts: the terminal that the service was started in has closed.
 *
 * @throws what `start` throws
 */
export async function serve(config: Config, { signal, onHangUp }: Signals): Promise<void> {
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
    const reason: unknown = signal.reason;
    stop(reason instanceof Interrupted ? reason.signal : String(reason));
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  // Unhandled rejections arrive here too.
  process.on('uncaughtException', crash);

  const starting = start(config, log);
  if (config.tls !== undefined) {
    // After the start, if it succeeds.
    onHangUp(
      () =>
        void starting.then(
          ({ renewCertificate }) => renewCertificate?.(),
          () => undefined,
        ),
    );
  }
  service = await starting;
  log.info({ url: service.url }, `listening on ${service.url}`);
  const { url, madeKey } = service;
  // Flushed at once, because scripts wait for this line.
  log.flush(() => {
    if (madeKey === undefined) return;
    // A key never goes into the log.
    // Few certificates are for the loopback address, which is the only one that a key is made for.
    const insecure = config.tls === undefined ? '' : '--insecure ';
    const lasting = config.storage.persistent ? `To create a lasting key:\n\n  ${CREATE_KEY}\n\n` : '';
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl ${insecure}-H 'Authorization: Bearer ${madeKey}' '${url}/v1/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n${lasting}`,
    );
    standardError.flush();
  });
}
