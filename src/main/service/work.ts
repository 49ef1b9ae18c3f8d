import cluster from 'node:cluster';
import type { Metrics } from '../../adapters/metrics/create-metrics.ts';
import { PROGRAM } from '../config/build.ts';
import { readConfig } from '../config/config.ts';
import { isJournal, openServiceLog, openStandardError } from '../log/open-log.ts';
import { explain } from '../program/failures.ts';
import type { ServiceIo } from '../program/process.ts';
import { loadMetrics } from './measure.ts';
import { runUntilStopped } from './run-until-stopped.ts';
import { sameStartKeys } from './start-keys.ts';
import { type Service, start } from './start.ts';
import type { Order, Report, Orders } from './worker-process.ts';

/**
 * Runs the service in this process, which is a worker. It ends like the service in a single process; also when the
 * primary process dies. Everything else it reports to the primary process, its failure to start included.
 */
export async function work({ signal, onHangUp, storages }: ServiceIo): Promise<void> {
  const { worker } = cluster;
  if (worker === undefined) throw new Error('this process is not a worker');
  // A terminal that closes sends it to all processes. The primary process decides.
  onHangUp(() => {});
  const orders = Promise.withResolvers<Orders>();
  let metrics: Metrics | undefined = undefined;
  let service: Service | undefined = undefined;
  worker.on('message', (order: Order) => {
    if (order.kind === 'orders') {
      orders.resolve(order);
      if (order.tls !== undefined) service?.useCertificate(order.tls);
    } else if (order.kind === 'ping') report({ kind: 'alive' });
    else {
      metrics?.series().then(
        (series) => report({ kind: 'measured', series }),
        (err: unknown) => log.error({ err }, 'failure'),
      );
    }
  });
  report({ kind: 'ready' });
  const { env, tls, isFirst, madeKey } = await orders.promise;
  const config = readConfig(env, storages);
  const { log } = await openServiceLog(config, openStandardError(), { worker: worker.id });
  if (config.metricsPort !== undefined) metrics = await loadMetrics(worker.id);
  const orphaned = new AbortController();
  worker.once('disconnect', () => {
    // Otherwise Node ends the process at once: https://github.com/nodejs/node/blob/v26.0.0/lib/internal/cluster/child.js
    worker.exitedAfterDisconnect = true;
    orphaned.abort('the primary process has ended');
  });
  const ending = AbortSignal.any([signal, orphaned.signal]);
  const startHere = async () => {
    // The workers share the limit of the whole service.
    const maxConnections = Math.ceil(config.maxConnections / config.workers);
    const started = await start({ ...config, maxConnections, tls }, log, {
      metrics,
      isLogged: isJournal(env),
      ...(!isFirst && { keys: sameStartKeys(config, madeKey) }),
    });
    const stop = async () => {
      const cutOff = await started.stop();
      report({ kind: 'stopped', cutOff });
      return cutOff;
    };
    return { ...started, stop };
  };
  try {
    service = await runUntilStopped(startHere, { config, log, signal: ending });
    const { url, madeKey: made } = service;
    report({ kind: 'listening', url, ...(made && { madeKey: made }) });
  } catch (error) {
    report({ kind: 'failed', problems: explain(error, `${PROGRAM} serve --help`).lines }, () =>
      process.exit(1),
    );
  }
}

function report(message: Report, onSent: () => void = () => {}): void {
  // The primary process may have died.
  if (process.send === undefined || !process.connected) onSent();
  else process.send(message, onSent);
}
