import { computeFigures, requestsOf } from './figures.ts';
import { startHaproxy } from './haproxy-before.ts';
import type { Load } from './load.ts';
import type { Member } from './member.ts';
import { type MongoScenario, type MongoStore, startServicesOn } from './mongodb-store.ts';
import type { ReplicaSetOptions } from './replica-set.ts';
import type { Stage } from './stage.ts';

/** Without settings of its own, the replica set has MongoDB's default settings, with an election after 10 s. */
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

const KILL: Fault = { begin: (primary) => primary.kill(), end: (member) => member.start() };
// While a member is frozen, the replica set acknowledges a write only every 2 s. The first pet may need two such
// writes, so the recovery may take longer than the default.
const FREEZE: Fault = {
  begin: (primary) => primary.freeze(),
  end: (member) => member.thaw(),
  recoveryMs: 6_000,
};
const STEP_DOWN: Fault = {
  begin: (primary) => primary.admin({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 2 }),
};

type Flags = {
  /** Whether the clients reach the services through HAProxy. */
  readonly usesHaproxy?: true;
  /** Whether requests may fail, because the replica set needs more time than a request may wait. */
  readonly mayFail?: true;
};

/** Returns a scenario in which the primary fails while two services use it, and a new primary is elected. */
function failover(name: string, replicaSet: ReplicaSetOptions, fault: Fault, flags?: Flags): MongoScenario {
  return {
    name: `MongoDB: ${name}`,
    replicaSet,
    isPlayedAlone: true,
    async play(stage, store) {
      const services = await startServicesOn(stage, store);
      const proxy = flags?.usesHaproxy && (await startHaproxy(stage, services));
      if (stage.skipReason !== undefined) return;
      // Clients change the service, because otherwise all of them could stay with the service that recovers first.
      const load = await stage.startLoad(proxy === undefined ? services : [proxy], { urlChangeShare: 0.05 });
      await stage.letRun(6);
      await losePrimary(stage, store, load, fault);
      await stage.letRun(6);
      await stage.stopLoads();
      const { failedRequests } = computeFigures(load.history);
      if (flags?.mayFail === undefined) stage.expectAtMost('failed requests', failedRequests, 0, '');
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
  const asSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  await set.primary();
  const electionMs = performance.now() - beginMs;
  // A secondary that replicates from a frozen member first waits for this member. Until then, no write has a majority.
  await set.waitForMajorityWrites();
  const commitMs = performance.now() - beginMs;
  // A pet of the first second does not count, because the old primary may have stored it.
  await stage.expectRecovery(load, beginMs + 1_000, recoveryMs);
  // At most 12 requests were running when the primary failed. So 15 pets show that new requests succeed.
  await load.waitForAcknowledgements(15);
  const affectedRequests = requestsOf(load.history).filter(({ endMs }) => endMs > beginMs);
  const failedCount = affectedRequests.filter(({ status = 0 }) => status === 0 || status >= 500).length;
  // In the first second, an answer may come from the old primary.
  const firstSuccessMs = (...types: readonly string[]) =>
    Math.min(
      ...affectedRequests
        .filter(({ type, status, endMs }) => types.includes(type) && status! < 300 && endMs > beginMs + 1_000)
        .map(({ endMs }) => endMs - beginMs),
    );
  const longestMs = Math.max(...affectedRequests.map((request) => request.endMs - request.beginMs));
  stage.notes.push(
    `a new primary after ${asSeconds(electionMs)}, it could commit after ${asSeconds(commitMs)}; ` +
      `the first read after ${asSeconds(firstSuccessMs('get', 'page'))}, ` +
      `the first pet after ${asSeconds(firstSuccessMs('create'))}; ` +
      `${failedCount} of ${affectedRequests.length} requests failed, the longest took ${asSeconds(longestMs)}`,
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
