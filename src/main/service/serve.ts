import { readBuild } from '../config/build.ts';
import { type Config, readConfig } from '../config/config.ts';
import { misspelt } from '../config/misspelt.ts';
import { isJournal, openServiceLog, openStandardError } from '../log/open-log.ts';
import type { ServiceIo } from '../program/process.ts';
import { certificateRenewal, expiryWarning, readCertificate } from './certificate.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { CREATE_KEY } from './start-keys.ts';

/**
 * Runs the service. In a worker process of it, takes over the share of that worker.
 *
 * @throws {StartError}
 * @throws what `start` or `startWorkers` throws
 */
export async function serve(io: ServiceIo): Promise<void> {
  // The primary process sets this variable of a worker. A service in one process loads neither module.
  const mayBeWorker = Number(io.env['WORKERS']) > 1;
  if (mayBeWorker && (await import('node:cluster')).default.isWorker) {
    await (await import('./work.ts')).work(io);
  } else await servePrimary(readConfig(io.env, io.storages), io);
}

/**
 * Starts the service, in this process or in workers. It runs until an interruption or a bug ends it.
 *
 * With TLS, a hang-up (SIGHUP) makes it read its certificate again. Without TLS there is nothing to read again, and a
 * hang-up interrupts: the terminal that the service was started in has closed.
 */
async function servePrimary(config: Config, { env, signal, onHangUp }: ServiceIo): Promise<void> {
  const standardError = openStandardError();
  const { log, output } = await openServiceLog(config, standardError);
  for (const [given, meant] of misspelt(env)) {
    log.warn(`the variable ${given} has no effect; is it a misspelt ${meant}?`);
  }
  const { workers, tls: files } = config;
  const start = async () => {
    const tls = files && (await readCertificate(files));
    const warning = tls && expiryWarning(tls, new Date());
    if (warning !== undefined) log.warn(warning);
    if (workers === 1) {
      return (await import('./start.ts')).start({ ...config, tls }, log, { isLogged: isJournal(env) });
    }
    return (await import('./start-workers.ts')).startWorkers({ ...config, tls }, log, { env, output });
  };
  const starting = runUntilStopped(start, { config, log, signal });
  onHangUp(files && certificateRenewal(files, starting, log));
  const { url, metricsUrl, madeKey } = await starting;
  const fields = { url, ...(workers > 1 && { workers }), ...readBuild() };
  log.info(fields, `listening on ${url} (page at ${url}/docs)`);
  if (metricsUrl !== undefined) log.info({ metricsUrl }, `metrics at ${metricsUrl}`);
  // Flushed at once, because scripts wait for this line.
  log.flush(() => {
    if (madeKey === undefined) return;
    // A key never goes into the log.
    // Few certificates are for the loopback address, which is the only one that a key is made for.
    const insecure = config.tls === undefined ? '' : '--insecure ';
    const lasting = config.storage.kind.persistent ? `To create a lasting key:\n\n  ${CREATE_KEY}\n\n` : '';
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl ${insecure}-H 'Authorization: Bearer ${madeKey.token}' '${url}/v1/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n${lasting}`,
    );
    standardError.flush();
  });
}
