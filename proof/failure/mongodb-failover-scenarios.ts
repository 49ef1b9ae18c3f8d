import { figures, requestsOf } from './figures.ts';
import { haproxyBefore } from './haproxy-before.ts';
import type { Load } from './load.ts';
import { type MongoScenario, type MongoStore, servicesOn } from './mongodb-store.ts';
import type { ReplicaSetOptions } from './replica-set.ts';
import type { Stage } from './stage.ts';

/** MongoDB's own settings: an election after 10 s. */
const DEFAULTS: ReplicaSetOptions = { settings: {} };

/** What `deploy/mongodb` and `deploy/compose.yaml` set. */
const SHIPPED: ReplicaSetOptions = {
  settings: { electionTimeoutMillis: 3_000 },
  parameters: { oplogNetworkTimeoutBufferSeconds: 1 },
};

type Failover = {
  readonly name: string;
  readonly replicaSet: ReplicaSetOptions;
  readonly harm: 'kill' | 'freeze';
  /** Whether the clients reach the services through HAProxy. */
  readonly proxied?: true;
  /** Whether requests fail, because the replica set needs longer than a request waits. */
  readonly fails?: true;
};

/** Takes the primary away from two services until another one acknowledges writes again. */
function failover({ name, replicaSet, harm, proxied, fails }: Failover): MongoScenario {
  return {
    name: `MongoDB: ${name}`,
    replicaSet,
    alone: true,
    async play(stage, store) {
      const services = await servicesOn(stage, store);
      const proxy = proxied && (await haproxyBefore(stage, services));
      if (stage.leftOut !== undefined) return;
      const load = await stage.load(proxy === undefined ? services : [proxy]);
      await stage.letRun(6);
      await losePrimary(stage, store, load, harm);
      await stage.letRun(6);
      await stage.rest();
      const { failedRequests } = figures(load.history);
      if (fails === undefined) stage.bar('failed requests', failedRequests, 0, '');
    },
  };
}

async function losePrimary(
  stage: Stage,
  { set }: MongoStore,
  load: Load,
  harm: Failover['harm'],
): Promise<void> {
  const old = await set.primary();
  load.fault();
  const begunMs = performance.now();
  if (harm === 'kill') await old.kill();
  else old.freeze();
  const seconds = () => `${((performance.now() - begunMs) / 1_000).toFixed(1)} s`;
  await set.primary();
  const elected = seconds();
  await set.commits();
  const committed = seconds();
  // More than the requests in flight.
  await load.acknowledges(15);
  load.healed();
  const met = requestsOf(load.history).filter(({ ended }) => ended > begunMs);
  const failed = met.filter(({ status = 0 }) => status === 0 || status >= 500).length;
  const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  // Some were answered before the loss shows.
  const first = (...types: readonly string[]) =>
    Math.min(
      ...met
        .filter(({ type, status, ended }) => types.includes(type) && status! < 300 && ended > begunMs + 1_000)
        .map(({ ended }) => ended - begunMs),
    );
  const longestMs = Math.max(...met.map(({ begun, ended }) => ended - begun));
  stage.notes.push(
    `${harm}: a new primary after ${elected}, it could commit after ${committed}; the first read after ` +
      `${inSeconds(first('get', 'page'))}, the first pet after ${inSeconds(first('create'))}; ` +
      `${failed} of ${met.length} requests failed, the longest took ${inSeconds(longestMs)}`,
  );
  if (harm === 'kill') await old.start();
  else old.thaw();
}

export const FAILOVER_SCENARIOS: readonly MongoScenario[] = [
  {
    ...failover({
      name: "kill -9 of the primary, with MongoDB's settings",
      replicaSet: DEFAULTS,
      harm: 'kill',
    }),
    onlyInFull: true,
  },
  {
    ...failover({
      name: 'kill -9 of the primary, with the settings of deploy',
      replicaSet: SHIPPED,
      harm: 'kill',
    }),
    onlyInFull: true,
  },
  failover({
    name: 'kill -9 of the primary behind HAProxy, with the settings of deploy',
    replicaSet: SHIPPED,
    harm: 'kill',
    proxied: true,
  }),
  {
    ...failover({
      name: "SIGSTOP of the primary, with MongoDB's settings",
      replicaSet: DEFAULTS,
      harm: 'freeze',
      fails: true,
    }),
    onlyInFull: true,
  },
  failover({
    name: 'SIGSTOP of the primary, with the settings of deploy',
    replicaSet: SHIPPED,
    harm: 'freeze',
  }),
];
