import { computeFigures, requestsOf } from './figures.ts';
import { startHaproxy } from './haproxy-before.ts';
import type { Load } from './load.ts';
import type { Member } from './member.ts';
import { type MongoScenario, type MongoStore, startServicesOn } from './mongodb-store.ts';
import type { ReplicaSetOptions } from './replica-set.ts';
import type { Stage } from './stage.ts';

/** The default settings of MongoDB, with an election after 10 s. */
const DEFAULTS: ReplicaSetOptions = { settings: {} };

/** The settings in `deploy/mongodb` and `deploy/compose.yaml`. */
const DEPLOY_SETTINGS: ReplicaSetOptions = {
  settings: { electionTimeoutMillis: 3_000 },
  parameters: { oplogNetworkTimeoutBufferSeconds: 1 },
};

/** A fault of the primary. `begin` causes the fault, and `end` repairs it. */
type Fault = {
  readonly begin: (primary: Member) => unknown;
  readonly end?: (oldPrimary: Member) => unknown;
  /** How long the service may take to add a pet after the replica set can commit again. The default is 2 s. */
  readonly recoveryMs?: number;
};

const KILL: Fault = { begin: (primary) => primary.kill(), end: (oldPrimary) => oldPrimary.start() };
// While a member is frozen, the replica set acknowledges a write only every 2 s. A first pet may need two writes.
const FREEZE: Fault = {
  begin: (primary) => primary.freeze(),
  end: (oldPrimary) => oldPrimary.thaw(),
  recoveryMs: 6_000,
};
const STEP_DOWN: Fault = {
  begin: (primary) => primary.admin({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 2 }),
};

type Options = {
  /** Whether the clients reach the services through HAProxy. */
  readonly usesHaproxy?: true;
  /** Whether requests may fail, because the replica set needs more time than a request may wait. */
  readonly mayFail?: true;
};

/** A scenario in which two services lose the primary until a new primary acknowledges writes. */
function failover(
  name: string,
  replicaSet: ReplicaSetOptions,
  fault: Fault,
  options?: Options,
): MongoScenario {
  return {
    name: `MongoDB: ${name}`,
    replicaSet,
    isPlayedAlone: true,
    async play(stage, store) {
      const services = await startServicesOn(stage, store);
      const proxy = options?.usesHaproxy && (await startHaproxy(stage, services));
      if (stage.skipReason !== undefined) return;
      // Clients change the service, because otherwise all of them could stay with the service that recovers first.
      const load = await stage.startLoad(proxy === undefined ? services : [proxy], { urlChangeShare: 0.05 });
      await stage.letRun(6);
      await losePrimary(stage, store, load, fault);
      await stage.letRun(6);
      await stage.stopLoads();
      const { failedRequests } = computeFigures(load.history);
      if (options?.mayFail === undefined) stage.expectAtMost('failed requests', failedRequests, 0, '');
    },
  };
}

async function losePrimary(
  stage: Stage,
  { set }: MongoStore,
  load: Load,
  { begin, end, recoveryMs }: Fault,
): Promise<void> {
  const oldPrimary = await set.primary();
  load.beginFault();
  const beginMs = performance.now();
  await begin(oldPrimary);
  const elapsedSeconds = () => `${((performance.now() - beginMs) / 1_000).toFixed(1)} s`;
  await set.primary();
  const electionTime = elapsedSeconds();
  // A secondary that replicates from a frozen member first waits for this member. Until then, no write has a majority.
  await set.waitForMajorityWrites();
  const commitTime = elapsedSeconds();
  await stage.expectRecovery(load, beginMs + 1_000, recoveryMs);
  // 15 pets are more than the requests that were running when the primary was lost.
  await load.waitForAcknowledgements(15);
  const laterRequests = requestsOf(load.history).filter(({ endMs }) => endMs > beginMs);
  const failedCount = laterRequests.filter(({ status = 0 }) => status === 0 || status >= 500).length;
  const asSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  // In the first second, some requests are still answered as if the primary were there.
  const firstSuccessMs = (...types: readonly string[]) =>
    Math.min(
      ...laterRequests
        .filter(({ type, status, endMs }) => types.includes(type) && status! < 300 && endMs > beginMs + 1_000)
        .map(({ endMs }) => endMs - beginMs),
    );
  const longestMs = Math.max(...laterRequests.map((request) => request.endMs - request.beginMs));
  stage.notes.push(
    `a new primary after ${electionTime}, it could commit after ${commitTime}; the first read after ` +
      `${asSeconds(firstSuccessMs('get', 'page'))}, the first pet after ${asSeconds(firstSuccessMs('create'))}; ` +
      `${failedCount} of ${laterRequests.length} requests failed, the longest took ${asSeconds(longestMs)}`,
  );
  await end?.(oldPrimary);
}

export const FAILOVER_SCENARIOS: readonly MongoScenario[] = [
  failover('step-down of the primary', DEPLOY_SETTINGS, STEP_DOWN),
  { ...failover("kill -9 of the primary, with MongoDB's settings", DEFAULTS, KILL), isFullFormOnly: true },
  failover('kill -9 of the primary behind HAProxy, with the settings of deploy', DEPLOY_SETTINGS, KILL, {
    usesHaproxy: true,
  }),
  {
    ...failover("SIGSTOP of the primary, with MongoDB's settings", DEFAULTS, FREEZE, { mayFail: true }),
    isFullFormOnly: true,
  },
  failover('SIGSTOP of the primary, with the settings of deploy', DEPLOY_SETTINGS, FREEZE),
];
