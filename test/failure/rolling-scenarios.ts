import { Balancer, type Unit } from './balancer.ts';
import { isExpected, requestsOf } from './figures.ts';
import type { History } from './history.ts';
import type { MongoStore } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';

const ROUNDS = { short: 1, full: 10 } as const;

/** As docs/operations.md advises: the pause and the timeout of 2 probes, and almost a second to spare. */
const SHUTDOWN_DELAY = '3s';

/** Restarts two instances behind a balancer, one after the other, under constant load. No request may fail. */
function rollingRestarts(workers: number, unit: Unit): Scenario<MongoStore> {
  return {
    name: `MongoDB: rolling restarts, WORKERS=${workers}, proxy for ${unit}`,
    alone: true,
    async play(stage, { set, database }) {
      const env = {
        DATABASE_URL: set.url(database),
        AUTO_MIGRATE: 'true',
        WORKERS: `${workers}`,
        SHUTDOWN_DELAY,
      };
      const instances = [await stage.service(env), await stage.service(env)];
      const balancer = await Balancer.start(
        instances.map(({ url }) => url),
        unit,
      );
      stage.owned.use(balancer);
      const load = await stage.load([balancer], { patienceMs: 0 });
      let restarts = 0;
      for (let round = 0; round < ROUNDS[stage.form]; round++) {
        for (const instance of instances) {
          load.fault();
          await stage.terminate(instance);
          await instance.start();
          await balancer.includes(instance.url);
          // Both of them answer again.
          await load.acknowledges(20);
          load.healed();
          restarts++;
        }
      }
      await load.stop();
      const failed = failedRequests(load.history);
      stage.bar('failed requests', failed, 0, '');
      stage.notes.push(
        `${restarts} restarts, ${balancer.forwarded} ${unit} forwarded, ${failed} requests failed`,
        ...balancer.failures.slice(0, 5),
      );
    },
  };
}

/** The requests without the answer that a client expects: every other status, and no answer at all. */
function failedRequests(history: History): number {
  return requestsOf(history).filter((request) => !isExpected(request)).length;
}

export const ROLLING_SCENARIOS: readonly Scenario<MongoStore>[] = [
  { ...rollingRestarts(1, 'requests'), onlyInFull: true },
  rollingRestarts(2, 'requests'),
  { ...rollingRestarts(2, 'connections'), onlyInFull: true },
];
