import type { Logger } from 'pino';
import { V1 } from '../../adapters/http/contract/versions.ts';
import { readBuild } from '../config/build.ts';
import { type Config, readConfig } from '../config/config.ts';
import { unusedVariableWarnings } from '../config/without-effect.ts';
import { isJournal, openServiceLog, openStandardError } from '../log/open-log.ts';
import type { Interrupted, ServiceIo } from '../program/process.ts';
import { CREATE_KEY } from './start-keys.ts';
import { type Service, start } from './start.ts';

/** How long closing the storage may take: docs/explanation/a-drain.md, "How long it takes". */
const CLOSE_MS = 3_000;

/**
 * SIGHUP reads the certificates again. Without certificates, SIGHUP ends the service: docs/explanation/a-drain.md,
 * "What starts a drain".
 *
 * @throws what `start` throws
 */
export async function serve({ env, signal, setHangUpAction, storages }: ServiceIo): Promise<void> {
  const config = readConfig(env, storages);
  const log = await openServiceLog(config);
  const standardError = openStandardError();
  for (const warning of [...config.warnings, ...unusedVariableWarnings(env)]) log.warn(warning);
  const startService = () => start(config, log, { isLogged: isJournal(env) });
  const starting = runUntilStopped(startService, config, { log, signal });
  const renew = async () => (await starting.catch(() => undefined))?.renewCertificates();
  const { storage } = config;
  const hasCertificates = config.tls !== undefined || storage.kind.hasCertificates?.(storage.url);
  setHangUpAction(hasCertificates ? () => void renew() : undefined);
  const { url, metricsUrl, madeKey } = await starting;
  log.info({ url, ...readBuild() }, `listening on ${url} (page at ${url}/docs)`);
  if (metricsUrl !== undefined) log.info({ metricsUrl }, `metrics at ${metricsUrl}`);
  // The log is flushed immediately, because scripts wait for this line.
  log.flush(() => {
    if (madeKey === undefined) return;
    // A key never goes into the log. `--insecure`: a key is made only at a loopback address, for which few certificates
    // are valid.
    const insecureOption = config.tls === undefined ? '' : '--insecure ';
    const advice = config.storage.kind.persistent ? `To create a lasting key:\n\n  ${CREATE_KEY}\n\n` : '';
    standardError.write(
      `\nThere is no API key yet, so one was made for this run. Try:\n\n` +
        `  curl ${insecureOption}-H 'Authorization: Bearer ${madeKey.token}' '${url}${V1}/pets'\n\n` +
        `Or paste the key into the page of the API:\n\n  ${url}/docs\n\n${advice}`,
    );
    standardError.flush();
  });
}

/**
 * An interruption or a bug stops the service: docs/explanation/a-drain.md.
 *
 * @param signal aborted with an {@link Interrupted}
 * @returns the service, when it listens
 */
async function runUntilStopped(
  startService: () => Promise<Service>,
  config: Config,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Service> {
  let service: Service | undefined = undefined;
  let isStopping = false;

  const stop = async (reason: string) => {
    // One Ctrl-C sends two signals.
    if (isStopping) return;
    isStopping = true;
    const stopped = service?.stop();
    log.info({ reason }, 'shutting down');
    // No drain is needed before the service listens: every step of a start can be repeated.
    if (stopped === undefined) process.exit();
    log.flush();
    const giveUp = () => {
      log.fatal('the shutdown has not ended in time; this process ends now');
      process.exit(1);
    };
    setTimeout(giveUp, config.shutdownDelayMs + config.shutdownTimeoutMs + CLOSE_MS).unref();
    log.info({ cutOff: await stopped }, 'stopped');
    // An unresponsive storage or receiver of traces would keep the process alive.
    process.exit();
  };
  const crash = (err: unknown) => {
    log.fatal({ err }, 'stopping because of a bug');
    process.exitCode = 1;
    void stop('bug');
  };
  const onAbort = () => void stop((signal.reason as Interrupted).signal);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  // Unhandled rejections arrive here too.
  process.on('uncaughtException', crash);

  service = await startService();
  return service;
}
