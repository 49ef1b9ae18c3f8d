import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../config/config.ts';
import { openServiceLog, openStandardError } from '../log/service-log.ts';
import { runUntilStopped, type Signals } from './run-until-stopped.ts';
import { start } from './start.ts';
import { sameStartKeys } from './start-keys.ts';
import type { Orders, Report } from './worker-messages.ts';

/**
 * Runs the service in this process, which is a worker. It ends like the service in a single process; also when the
 * primary process dies. Everything else it reports to the primary process, its failure to start included.
 *
 * @param problemsIn explains a failure to start, each problem as one printable text
 */
export async function work(
  config: Config,
  { signal, onHangUp }: Signals,
  problemsIn: (error: unknown) => readonly string[],
): Promise<void> {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('this process is not a worker');
  const [orders] = (await once(process, 'message')) as [Orders];
  const { log } = await openServiceLog(config, openStandardError(), { worker: worker.id });
  const orphaned = new AbortController();
  worker.once('disconnect', () => {
    // Otherwise Node ends the process at once: https://github.com/nodejs/node/blob/v26.0.0/lib/internal/cluster/child.js
    worker.exitedAfterDisconnect = true;
    orphaned.abort('the primary process has ended');
  });
  const startHere = async () => {
    const service = await start(shareOf(config), log, {
      worker: worker.id,
      ...(!orders.isFirst && { keys: sameStartKeys(config, orders.madeKey) }),
    });
    const stop = async () => {
      const cutOff = await service.stop();
      report({ kind: 'stopped', cutOff });
      return cutOff;
    };
    return { ...service, stop };
  };
  try {
    const { url, madeKey } = await runUntilStopped(startHere, {
      config,
      log,
      signals: { signal: AbortSignal.any([signal, orphaned.signal]), onHangUp },
    });
    report({ kind: 'listening', url, ...(madeKey && { madeKey }) });
  } catch (error) {
    report({ kind: 'failed', problems: problemsIn(error) }, () => process.exit(1));
  }
}

/** The workers share the limit of the whole service. */
function shareOf(config: Config): Config {
  return { ...config, maxConnections: Math.ceil(config.maxConnections / config.workers) };
}

function report(message: Report, onSent: () => void = () => {}): void {
  // The primary process may have died.
  if (process.send === undefined || !process.connected) onSent();
  else process.send(message, onSent);
}
