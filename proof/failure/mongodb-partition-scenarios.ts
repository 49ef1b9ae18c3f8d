import type { Member } from './member.ts';
import type { MongoScenario, MongoStore } from './mongodb-store.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** The members elect a new primary after 10 s, which is the default of MongoDB. */
const SLOW_ELECTIONS = { electionTimeoutMillis: 10_000, heartbeatIntervalMillis: 200 } as const;

/** Starts a service with an `appName`, by which the proxies of the members recognize its connections. */
function startService(stage: Stage, { set, database }: MongoStore, name: string): Promise<ServiceProcess> {
  return stage.startService({ DATABASE_URL: `${set.url(database)}&appName=${name}`, AUTO_MIGRATE: 'true' });
}

/** Returns the new primary when another member is elected. The old primary may still believe that it is primary. */
function waitForSuccessor(oldPrimary: Member, { set }: MongoStore): Promise<Member> {
  return until('another primary', async () => {
    for (const member of set.members) {
      if (member === oldPrimary) continue;
      const hello = await member.hello();
      if (hello?.['isWritablePrimary'] === true) return member;
    }
    return undefined;
  });
}

/**
 * Returns a scenario in which the network cuts off the primary, alone or together with one of the two services.
 *
 * @param staysWithPrimary returns whether the service with this `appName` is cut off together with the primary
 */
function partition(
  name: string,
  scenarioOptions: Partial<MongoScenario>,
  staysWithPrimary?: (application: string) => boolean,
): MongoScenario {
  return {
    name,
    ...scenarioOptions,
    async play(stage, store) {
      const services = await Promise.all(['left', 'right'].map((side) => startService(stage, store, side)));
      const load = await stage.startLoad(services);
      await stage.letRun(3);
      const oldPrimary = await store.set.primary();
      load.beginFault();
      const beginMs = performance.now();
      store.set.isolate(oldPrimary, staysWithPrimary);
      await waitForSuccessor(oldPrimary, store);
      const electedMs = performance.now() - beginMs;
      // The other secondary may still wait for the old primary, from which it replicated. Until it replicates from the
      // new primary, no write has a majority.
      await store.set.waitForMajorityWrites();
      const committedMs = performance.now() - beginMs;
      // A pet of the first second does not count, because the old primary may have stored it.
      await stage.expectRecovery(load, beginMs + 1_000);
      // Far fewer than 50 requests were running during the election. So 50 pets show that new requests succeed.
      await load.waitForAcknowledgements(50);
      await stage.letRun(5);
      const isolationMs = performance.now() - beginMs;
      store.set.endIsolation();
      await store.set.whole();
      load.endFault();
      await stage.letRun(3);
      const formatSeconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
      stage.notes.push(
        `cut off for ${formatSeconds(isolationMs)}, a new primary after ${formatSeconds(electedMs)}, ` +
          `which could commit after ${formatSeconds(committedMs)}`,
      );
    },
  };
}

export const PARTITION_SCENARIOS: readonly MongoScenario[] = [
  partition('MongoDB: the primary cut off from all members and services', {
    replicaSet: { hasProxies: true },
  }),
  // With a shorter election timeout, lists from the old primary would miss pets: docs/reference/storages.md says why.
  partition(
    'MongoDB: the primary and one of two services cut off',
    { replicaSet: { hasProxies: true, settings: SLOW_ELECTIONS }, isFullFormOnly: true },
    (application) => application === 'left',
  ),
];
