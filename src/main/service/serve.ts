import { CREATE_KEY } from './start-keys.ts';
import type { Config } from '../config/config.ts';
import { openServiceLog, openStandardError } from '../log/service-log.ts';
import { runUntilStopped, type Signals } from './run-until-stopped.ts';

/**
 * Starts the service, in this process or in workers. It runs until an interruption or a bug ends it.
 *
 * @throws what `start` or `startWorkers` throws
 */
export async function serve(config: Config, signals: Signals): Promise<void> {
  const standardError = openStandardError();
  const { log, output } = await openServiceLog(config, standardError);
  const { workers } = config;
  const start = async () => {
    if (workers === 1) return (await import('./start.ts')).start(config, log);
    return (await import('./start-workers.ts')).startWorkers(config, log, output);
  };
  const { url, metricsUrl, madeKey } = await runUntilStopped(start, { config, log, signals });
  log.info({ url, ...(workers > 1 && { workers }) }, `listening on ${url}`);
  if (metricsUrl !== undefined) log.info({ metricsUrl }, `metrics at ${metricsUrl}`);
  // Flushed at once, because scripts wait for this line.
  log.flush(() => {
    if (madeKey === undefined) return;
    // A key never goes into the log.
    // Few certificates are for the loopback address, which is the only one that a key is made for.
    const insecure = config.tls === undefined ? '' : '--insecure ';
    const lasting = config.storage.persistent ? `To create a lasting key:\n\n  ${CREATE_KEY}\n\n` : '';
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl ${insecure}-H 'Authorization: Bearer ${madeKey.token}' '${url}/v1/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n${lasting}`,
    );
    standardError.flush();
  });
}
