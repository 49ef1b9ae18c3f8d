import { computeFigures, requestsOf } from './figures.ts';
import { killServices } from './kill-service.ts';
import { type MongoStore, startServicesOn, startServiceThroughProxy } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const LOG_PATTERNS = [/has no primary/, /^requests fail/, /has a primary again/, /^requests succeed again/];

/** Expects that each service logs one outage of MongoDB. The warning about times of last use may appear at any time. */
async function expectOutageLines(stage: Stage): Promise<void> {
  for (const service of stage.services) {
    const outageLines = await until('the end of the outage in the log', () => {
      const lines = service.warnings.filter(
        (line) => line !== 'the times of last use of API keys could not be stored',
      );
      return lines.some((line) => LOG_PATTERNS.at(-1)!.test(line)) && lines;
    });
    // The first two lines are logged again when the reason of the outage changes. The last line must be logged once.
    const kinds = outageLines.map((line) => LOG_PATTERNS.findIndex((pattern) => pattern.test(line)));
    const isOneOutage = [...new Set(kinds)].join() === '0,1,2,3' && kinds.lastIndexOf(3) === kinds.indexOf(3);
    stage.expect(`the log reports one outage: ${outageLines.join('; ')}`, isOneOutage);
  }
}

/** A request waits at most this long for MongoDB before the service refuses it. Later refusals are faster. */
const MAX_FIRST_REFUSAL_MS = 20_000;
/** A service that knows about the outage refuses a request within this time. */
const MAX_LATER_REFUSAL_MS = 1_000;

/** Kills all members under load, and starts them again after the service has refused requests for five seconds. */
const killAll: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of all members, restarted later',
  isPlayedAlone: true,
  async play(stage, store) {
    const { set } = store;
    const services = await startServicesOn(stage, store);
    // Clients change the service, because otherwise all of them could stay with the service that recovers first.
    const load = await stage.startLoad(services, { urlChangeShare: 0.05 });
    if (stage.form === 'full') stage.turnOverKeys(load, services[0]);
    await stage.letRun(3);
    load.beginFault();
    await Promise.all(set.members.map((member) => member.kill()));
    await load.waitFor503();
    const firstRefusalAtMs = performance.now();
    await stage.letRun(5);
    const restartBeginMs = performance.now();
    await Promise.all(set.members.map((member) => member.start()));
    await set.primary();
    await stage.expectRecovery(load, restartBeginMs);
    await stage.letRun(5);
    const laterRefusals = requestsOf(load.history).filter(
      ({ status, beginMs }) => status === 503 && beginMs > firstRefusalAtMs,
    );
    const slowestMs = Math.max(...laterRefusals.map(({ beginMs, endMs }) => endMs - beginMs));
    stage.expectAtMost('first refusal', firstRefusalAtMs - load.history.fault!.from, MAX_FIRST_REFUSAL_MS);
    stage.expect('more requests were refused after the first refusal', laterRefusals.length > 0);
    stage.expectAtMost(`slowest of ${laterRefusals.length} later refusals`, slowestMs, MAX_LATER_REFUSAL_MS);
    await expectOutageLines(stage);
  },
};

const loseReplies: Scenario<MongoStore> = {
  name: 'MongoDB: replies lost after the commit',
  async play(stage, store) {
    const { service, proxy } = await startServiceThroughProxy(stage, store);
    const load = await stage.startLoad([service]);
    await stage.letRun(2);
    load.beginFault();
    let lostReplies = 0;
    for (let round = 0; round < (stage.form === 'short' ? 3 : 8); round++) {
      for (const command of ['insert', 'find']) {
        // The service sends one insert at a time. So with `insert`, the second lost reply is the reply to the retry.
        proxy.loseReplies(command, 2);
        await until('the loss of the replies', () => proxy.repliesToLose === 0);
        lostReplies += 2;
        await stage.letRun(0.2);
      }
    }
    load.endFault();
    await stage.letRun(2);
    stage.notes.push(`${lostReplies} replies of MongoDB lost`);
  },
};

const kill: Scenario<MongoStore> = {
  name: 'MongoDB: kill -9 of the service, three times',
  play: async (stage, store) =>
    killServices(stage, await startServicesOn(stage, store), { times: 3, everySeconds: 2 }),
};

const rollingRestart: Scenario<MongoStore> = {
  name: 'MongoDB: rolling restart of two instances',
  async play(stage, store) {
    const instances = await startServicesOn(stage, store);
    const load = await stage.startLoad(instances);
    await stage.letRun(2);
    load.beginFault();
    const restartsPerInstance = stage.form === 'short' ? 1 : 3;
    for (const instance of Array.from({ length: restartsPerInstance }, () => instances).flat()) {
      await stage.terminateService(instance);
      await instance.start();
      await stage.letRun(1);
    }
    load.endFault();
    await stage.letRun(2);
    await load.stop();
    const urls = new Set(requestsOf(load.history).map(({ url }) => new URL(url).origin));
    stage.expect('both instances received requests', urls.size === 2);
    const { failedRequests, refusedPets } = computeFigures(load.history);
    stage.expectAtMost('requests failed', failedRequests + refusedPets, 0, '');
  },
};

export const MONGODB_SCENARIOS: readonly Scenario<MongoStore>[] = [
  killAll,
  loseReplies,
  kill,
  rollingRestart,
];
