import { figures, longestGapMs, requestsOf } from './figures.ts';
import { killService } from './kill-service.ts';
import type { Load } from './load.ts';
import type { Member } from './member.ts';
import { type MongoStore, servicesOn, serviceThroughProxy } from './mongodb-store.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { Scenario } from './scenario.ts';
import { RESUME_MS, type Stage } from './stage.ts';
import { until } from './until.ts';

const ELECTION_MS = 12_000;

/**
 * Two services under one load. In the full form an operator creates and revokes API keys. The clients wander: otherwise
 * all of them could stay with the service that recovers first.
 */
async function loadOn(stage: Stage, store: MongoStore): Promise<Load> {
  const services = await servicesOn(stage, store);
  const load = await stage.load(services, { wandering: 0.05 });
  if (stage.form === 'full') stage.turnOverKeys(load, services[0]);
  return load;
}

/** Harms the primary under load. Resolves with it when another member is primary and the service works again. */
async function losePrimary(
  stage: Stage,
  set: ReplicaSet,
  load: Load,
  harm: (primary: Member) => unknown,
): Promise<Member> {
  await stage.letRun(3);
  const primary = await set.primary();
  load.fault();
  const begun = performance.now();
  await harm(primary);
  await set.primary();
  const electionMs = performance.now() - begun;
  // More than the requests in flight.
  await load.acknowledges(50);
  load.healed();
  stage.bar('election', electionMs, ELECTION_MS);
  stage.bar('longest gap when the primary is lost', longestGapMs(load.history), electionMs + RESUME_MS);
  return primary;
}

const killPrimary: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of the primary',
  alone: true,
  async play(stage, store) {
    const load = await loadOn(stage, store);
    const old = await losePrimary(stage, store.set, load, (primary) => primary.kill());
    await stage.letRun(2);
    await old.start();
    await stage.letRun(2);
  },
};

const stepDown: Scenario<MongoStore> = {
  name: 'MongoDB: step-down of the primary',
  alone: true,
  async play(stage, store) {
    const load = await loadOn(stage, store);
    await losePrimary(stage, store.set, load, (primary) =>
      primary.admin({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 2 }),
    );
    await stage.letRun(3);
  },
};

const FREEZE_MS = { short: 5_000, full: 10_000 } as const;

/**
 * A secondary that replicates from the frozen member waits for it. Until then, the new primary has no majority to
 * acknowledge a write: the service cannot recover before the replica set does.
 */
function freezePrimary(name: string, prepare: (set: ReplicaSet) => Promise<void>): Scenario<MongoStore> {
  return {
    name,
    alone: true,
    async play(stage, { set, database }) {
      await prepare(set);
      const load = await loadOn(stage, { set, database });
      await stage.letRun(3);
      const primary = await set.primary();
      load.fault();
      const begun = performance.now();
      primary.freeze();
      const thawing = endOfFreeze(stage, load).then(() => primary.thaw());
      await set.primary();
      stage.bar('election', performance.now() - begun, ELECTION_MS);
      await set.commits();
      stage.notes.push(`the set could commit again after ${Math.round(performance.now() - begun)} ms`);
      await stage.resumes(load, begun + 1_000);
      await thawing;
      await stage.letRun(3);
    },
  };
}

/** Restarts the members with a shorter wait for the member that they replicate from. */
async function tuneReplication(set: ReplicaSet): Promise<void> {
  for (const member of set.members) {
    await member.kill();
    await member.start({ oplogNetworkTimeoutBufferSeconds: 1 });
  }
  await set.whole();
}

async function endOfFreeze(stage: Stage, load: Load): Promise<void> {
  const { from } = load.history.fault ?? { from: 0 };
  const ms = FREEZE_MS[stage.form];
  await until('the end of the freeze', () => performance.now() - from > ms);
  stage.notes.push(`frozen for ${ms / 1000} s`);
}

const OUTAGE_LINES = [/has no primary/, /^requests fail/, /has a primary again/, /^requests succeed again/];

/** Each service must tell of one outage of MongoDB. Keys that are in use bring another warning. */
async function expectOutageLines(stage: Stage): Promise<void> {
  for (const service of stage.services) {
    const told = await until('the end of the outage in the log', () => {
      const lines = service.warnings.filter((line) => line !== 'the use of keys was not recorded');
      return lines.some((line) => OUTAGE_LINES.at(-1)!.test(line)) && lines;
    });
    // Each of the first two is repeated when its reason changes during the outage.
    const kinds = told.map((line) => OUTAGE_LINES.findIndex((kind) => kind.test(line)));
    const reportsOne = [...new Set(kinds)].join() === '0,1,2,3' && kinds.lastIndexOf(3) === kinds.indexOf(3);
    stage.expect(`the log reports one outage: ${told.join('; ')}`, reportsOne);
  }
}

/** The deadline of a request. */
const FIRST_REFUSAL_MS = 20_000;
const LATER_REFUSAL_MS = 1_000;

/** Kills a majority of the members, and starts them again under load, when requests were refused for some seconds. */
async function loseMajority(stage: Stage, store: MongoStore, victims: readonly Member[]): Promise<void> {
  const load = await loadOn(stage, store);
  await stage.letRun(3);
  load.fault();
  await Promise.all(victims.map((member) => member.kill()));
  await load.meets503();
  const refused = performance.now();
  await stage.letRun(5);
  const restarted = performance.now();
  await Promise.all(victims.map((member) => member.start()));
  await store.set.primary();
  await stage.resumes(load, restarted);
  await stage.letRun(5);
  const later = requestsOf(load.history).filter(({ status, begun: at }) => status === 503 && at > refused);
  const slowest = Math.max(...later.map(({ begun: at, ended }) => ended - at));
  stage.bar('first refusal', refused - load.history.fault!.from, FIRST_REFUSAL_MS);
  stage.expect('later requests were refused, too', later.length > 0);
  stage.bar(`slowest of ${later.length} later refusals`, slowest, LATER_REFUSAL_MS);
  await expectOutageLines(stage);
}

const killTwo: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of two members of three, restarted later',
  alone: true,
  onlyInFull: true,
  async play(stage, store) {
    const [secondary] = await store.set.secondaries();
    await loseMajority(
      stage,
      store,
      [await store.set.primary(), secondary].filter((one) => one !== undefined),
    );
  },
};

const killAll: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of all members, restarted later',
  alone: true,
  play: (stage, store) => loseMajority(stage, store, store.set.members),
};

const loseReplies: Scenario<MongoStore> = {
  name: 'MongoDB: replies lost after the commit',
  async play(stage, store) {
    const { service, proxy } = await serviceThroughProxy(stage, store);
    const load = await stage.load([service]);
    await stage.letRun(2);
    load.fault();
    let lost = 0;
    for (let round = 0; round < (stage.form === 'short' ? 3 : 8); round++) {
      for (const command of ['insert', 'find']) {
        // Also fails the first repetition. Inserts come one after the other.
        proxy.loseReplies(command, 2);
        await until('the loss of the replies', () => proxy.repliesToLose === 0);
        lost += 2;
        await stage.letRun(0.2);
      }
    }
    load.healed();
    await stage.letRun(2);
    stage.notes.push(`${lost} replies of MongoDB lost`);
  },
};

const kill: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of the service, three times',
  play: async (stage, store) => killService(stage, await servicesOn(stage, store)),
};

const rollingRestart: Scenario<MongoStore> = {
  name: 'MongoDB: rolling restart of two instances',
  async play(stage, store) {
    const instances = await servicesOn(stage, store);
    const load = await stage.load(instances);
    await stage.letRun(2);
    load.fault();
    const turns = stage.form === 'short' ? 1 : 3;
    for (const instance of Array.from({ length: turns }, () => instances).flat()) {
      await stage.terminate(instance);
      await instance.start();
      await stage.letRun(1);
    }
    load.healed();
    await stage.letRun(2);
    await load.stop();
    const urls = new Set(requestsOf(load.history).map(({ url }) => new URL(url).origin));
    stage.expect('both instances had requests', urls.size === 2);
    const { failedRequests, refused } = figures(load.history);
    stage.bar('requests failed', failedRequests + refused, 0, '');
  },
};

export const MONGODB_SCENARIOS: readonly Scenario<MongoStore>[] = [
  killPrimary,
  stepDown,
  { ...freezePrimary('MongoDB: SIGSTOP of the primary', async () => {}), onlyInFull: true },
  freezePrimary('MongoDB: SIGSTOP of the primary, replication tuned for failover', tuneReplication),
  killTwo,
  killAll,
  loseReplies,
  kill,
  rollingRestart,
];
