import { CREATE_KEY } from './api-keys.ts';
import { readConfig } from './config.ts';
import { openLog } from './log.ts';
import { type Service, start } from './start.ts';

/** How long the process may linger after `SHUTDOWN_TIMEOUT`, in milliseconds: for the storage to be closed. */
const GRACE = 3_000;

/** Starts the service, which runs until a signal or a bug ends it. */
export async function serve(): Promise<void> {
  const config = readConfig(process.env);
  const log = await openLog(config);
  let service: Service | undefined = undefined;
  let stopping = false;

  const stop = (reason: string) => {
    // One Ctrl-C can come twice: from the terminal, and through npm.
    if (stopping) return;
    stopping = true;
    const stopped = service?.stop();
    log.info({ reason }, 'shutting down');
    log.flush();
    // Before it listens nothing is in flight, and whatever a start does can be done again.
    if (stopped === undefined) process.exit();
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
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  // A rejection that nobody handles comes here too.
  process.on('uncaughtException', crash);

  service = await start(config, log);
  log.info({ url: service.url }, `listening on ${service.url}`);
  // Whoever waits for this line should not wait for the buffer as well.
  log.flush();
  if (service.madeKey !== undefined) {
    // To the terminal, never to the log.
    const lasting = config.DATABASE_URL === 'memory:' ? '' : `For one that stays:\n\n  ${CREATE_KEY}\n\n`;
    process.stderr.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl -H 'Authorization: Bearer ${service.madeKey}' '${service.url}/v1/pets'\n\n${lasting}`,
    );
  }
}
