import type { Member } from './member.ts';
import type { MongoScenario, MongoStore } from './mongodb-store.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** MongoDB's default. */
const SLOW_ELECTIONS = { electionTimeoutMillis: 10_000, heartbeatIntervalMillis: 200 } as const;

/** A service whose connections a bridge can tell from those of others. */
function serviceNamed(stage: Stage, { set, database }: MongoStore, name: string): Promise<ServiceProcess> {
  return stage.service({ DATABASE_URL: `${set.url(database)}&appName=${name}`, AUTO_MIGRATE: 'true' });
}

/** Resolves when the other members have elected one of them. The old primary may not know it yet. */
function successorOf(old: Member, { set }: MongoStore): Promise<Member> {
  return until('another primary', async () => {
    for (const member of set.members) {
      if (member === old) continue;
      const hello = await member.hello();
      if (hello?.['isWritablePrimary'] === true) return member;
    }
    return undefined;
  });
}

/** The network cuts the primary off, alone or with one of the two services. */
function partition(
  name: string,
  rest: Partial<MongoScenario>,
  isWith?: (application: string) => boolean,
): MongoScenario {
  return {
    name,
    ...rest,
    async play(stage, store) {
      const services = await Promise.all(['left', 'right'].map((side) => serviceNamed(stage, store, side)));
      const load = await stage.load(services);
      await stage.letRun(3);
      const old = await store.set.primary();
      load.fault();
      const beginMs = performance.now();
      store.set.isolate(old, isWith);
      await successorOf(old, store);
      const electedMs = performance.now() - beginMs;
      // The other secondary may wait for the old primary, from which it replicated.
      await store.set.commits();
      const committedMs = performance.now() - beginMs;
      await stage.resumes(load, beginMs + 1_000);
      // More than the requests in flight.
      await load.acknowledges(50);
      await stage.letRun(5);
      const cutMs = performance.now() - beginMs;
      store.set.unite();
      await store.set.whole();
      load.healed();
      await stage.letRun(3);
      const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
      stage.notes.push(
        `cut off for ${seconds(cutMs)}, a new primary after ${seconds(electedMs)}, ` +
          `which could commit after ${seconds(committedMs)}`,
      );
    },
  };
}

export const PARTITION_SCENARIOS: readonly MongoScenario[] = [
  partition('MongoDB: the primary cut off from all members and services', { replicaSet: { bridged: true } }),
  // With a shorter timeout the gap that docs/reference/storages.md names would show: lists from the old primary.
  partition(
    'MongoDB: the primary and one of two services cut off',
    { replicaSet: { bridged: true, settings: SLOW_ELECTIONS }, onlyInFull: true },
    (application) => application === 'left',
  ),
];
