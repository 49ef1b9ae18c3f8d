import { setTimeout as sleep } from 'node:timers/promises';
import { figures } from './figures.ts';
import { type MongoStore, serviceThroughProxy } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';

/** Half of the connections at a time: requests are cut at every stage of a connection's life. */
const SHARE = 0.5;
const RESET_EVERY_MS = 60;

/** The deadline of a request, and an allowance for a busy machine. */
const SLOWEST_ANSWER_MS = 11_000;

const resetConnections: Scenario<MongoStore> = {
  name: 'MongoDB: connections reset again and again',
  async play(stage, store) {
    const { service, proxy } = await serviceThroughProxy(stage, store);
    // More clients than connections: a reset mostly hits writes that wait in the driver for a connection.
    const load = await stage.load([service], { clients: 40, pauseMs: 0 });
    await stage.letRun(2);
    load.fault();
    const rounds = stage.form === 'short' ? 100 : 400;
    for (let round = 0; round < rounds; round++) {
      if (round % 4 === 3) proxy.end(SHARE);
      else proxy.reset(SHARE);
      await sleep(RESET_EVERY_MS);
    }
    load.healed();
    await stage.letRun(2);
    await load.stop();
    stage.notes.push(`half of the connections to MongoDB cut ${rounds} times, ${RESET_EVERY_MS} ms apart`);
    stage.bar('slowest answer', figures(load.history).slowestAnswerMs, SLOWEST_ANSWER_MS);
  },
};

export const NETWORK_SCENARIOS: readonly Scenario<MongoStore>[] = [resetConnections];
