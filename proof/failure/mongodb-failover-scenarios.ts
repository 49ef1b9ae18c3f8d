import { figures, requestsOf } from './figures.ts';
import { haproxyBefore } from './haproxy-before.ts';
import type { Load } from './load.ts';
import type { Member } from './member.ts';
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

/** What happens to the primary, and what ends it. */
type Harm = {
  readonly begin: (primary: Member) => unknown;
  readonly end?: (old: Member) => unknown;
  /** How long the service may take when the replica set can commit again. */
  readonly resumeMs?: number;
};

const KILL: Harm = { begin: (primary) => primary.kill(), end: (old) => old.start() };
// A replica set with a frozen member acknowledges a write every 2 s, and a first pet may need two.
const FREEZE: Harm = { begin: (primary) => primary.freeze(), end: (old) => old.thaw(), resumeMs: 6_000 };
const STEP_DOWN: Harm = {
  begin: (primary) => primary.admin({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 2 }),
};

type Options = {
  /** Whether the clients reach the services through HAProxy. */
  readonly proxied?: true;
  /** Whether requests fail, because the replica set needs longer than a request waits. */
  readonly fails?: true;
};

/** Takes the primary away from two services until another one acknowledges writes again. */
function failover(name: string, replicaSet: ReplicaSetOptions, harm: Harm, options?: Options): MongoScenario {
  return {
    name: `MongoDB: ${name}`,
    replicaSet,
    alone: true,
    async play(stage, store) {
      const services = await servicesOn(stage, store);
      const proxy = options?.proxied && (await haproxyBefore(stage, services));
      if (stage.leftOut !== undefined) return;
      // Without a change of the service, all clients could stay with the one that recovers first.
      const load = await stage.load(proxy === undefined ? services : [proxy], { wandering: 0.05 });
      await stage.letRun(6);
      await losePrimary(stage, store, load, harm);
      await stage.letRun(6);
      await stage.rest();
      const { failedRequests } = figures(load.history);
      if (options?.fails === undefined) stage.bar('failed requests', failedRequests, 0, '');
    },
  };
}

async function losePrimary(
  stage: Stage,
  { set }: MongoStore,
  load: Load,
  { begin, end, resumeMs }: Harm,
): Promise<void> {
  const old = await set.primary();
  load.fault();
  const begunMs = performance.now();
  await begin(old);
  const seconds = () => `${((performance.now() - begunMs) / 1_000).toFixed(1)} s`;
  await set.primary();
  const elected = seconds();
  // A secondary that replicates from a frozen member waits for it. Until then, nothing has a majority.
  await set.commits();
  const committed = seconds();
  await stage.resumes(load, begunMs + 1_000, resumeMs);
  // More than the requests in flight.
  await load.acknowledges(15);
  const met = requestsOf(load.history).filter(({ endMs }) => endMs > begunMs);
  const failed = met.filter(({ status = 0 }) => status === 0 || status >= 500).length;
  const inSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  // Some were answered before the loss shows.
  const first = (...types: readonly string[]) =>
    Math.min(
      ...met
        .filter(({ type, status, endMs }) => types.includes(type) && status! < 300 && endMs > begunMs + 1_000)
        .map(({ endMs }) => endMs - begunMs),
    );
  const longestMs = Math.max(...met.map((request) => request.endMs - request.beginMs));
  stage.notes.push(
    `a new primary after ${elected}, it could commit after ${committed}; the first read after ` +
      `${inSeconds(first('get', 'page'))}, the first pet after ${inSeconds(first('create'))}; ` +
      `${failed} of ${met.length} requests failed, the longest took ${inSeconds(longestMs)}`,
  );
  await end?.(old);
}

export const FAILOVER_SCENARIOS: readonly MongoScenario[] = [
  failover('step-down of the primary', SHIPPED, STEP_DOWN),
  { ...failover("kill -9 of the primary, with MongoDB's settings", DEFAULTS, KILL), onlyInFull: true },
  failover('kill -9 of the primary behind HAProxy, with the settings of deploy', SHIPPED, KILL, {
    proxied: true,
  }),
  {
    ...failover("SIGSTOP of the primary, with MongoDB's settings", DEFAULTS, FREEZE, { fails: true }),
    onlyInFull: true,
  },
  failover('SIGSTOP of the primary, with the settings of deploy', SHIPPED, FREEZE),
];
