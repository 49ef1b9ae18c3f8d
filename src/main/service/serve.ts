import { CREATE_KEY } from './start-keys.ts';
import { readConfig } from '../config/config.ts';
import { openServiceLog, openStandardError } from '../log/service-log.ts';
import { type Service, start } from './start.ts';

/** How long the process may linger after `SHUTDOWN_TIMEOUT`, in milliseconds: for the storage to be closed. */
const GRACE = 3_000;

/** Starts the service, which runs until a signal or a bug ends it. */
export async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const standardError = openStandardError();
  const log = await openServiceLog(config, standardError);
  let service: Service | undefined = undefined;
  let stopping = false;

  const stop = (reason: string) => {
    // One Ctrl-C can come twice: from the terminal, and through npm.
    if (stopping) return;
    stopping = true;
    const stopped = service?.stop();
    log.info({ reason }, 'shutting down');
    // Before it listens nothing is in flight, and whatever a start does can be done again.
    if (stopped === undefined) process.exit();
    log.flush();
    stopped.then((cutOff) => log.info({ cutOff }, 'stopped'), crash);
    setTimeout(() => {
      log.fatal('still not stopped, giving up');
      process.exit(1);
    }, config.SHUTDOWN_TIMEOUT + GRACE).unref();
  };
  const crash = (err: unknown) => {
    log.fatal({ err }, 'a bug ends the service');
    process.exitCode = 1;
    stop('bug');
  };
  // Also from the beginning, because the first process of a container has no default for a signal.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
  // A rejection that nobody handles comes here too.
  process.on('uncaughtException', crash);

  service = await start(config, log);
  log.info({ url: service.url }, `listening on ${service.url}`);
  const { url, madeKey } = service;
  // Whoever waits for this line should not wait for the buffer as well.
  log.flush(() => {
    if (madeKey === undefined) return;
    // To the terminal, never to the log.
    const lasting = config.DATABASE_URL === 'memory:' ? '' : `For one that stays:\n\n  ${CREATE_KEY}\n\n`;
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl -H 'Authorization: Bearer ${madeKey}' '${url}/v1/pets'\n\n${lasting}`,
    );
    standardError.flush();
  });
}
