import { setTimeout as sleep } from 'node:timers/promises';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { figures } from './figures.ts';
import type { MongoStore } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';

/** Half of the connections, so that requests are cut at every stage of a connection's life. */
const SHARE = 0.5;
const RESET_EVERY_MS = 60;

/** The deadline of a request, and what a busy machine may add. */
const SLOWEST_ANSWER_MS = 11_000;

const resetConnections: Scenario<MongoStore> = {
  name: 'MongoDB: connections reset again and again',
  async play(stage, { set, database }) {
    // One member through a proxy: with the whole set the driver would find its way around it.
    const proxy = await new TcpProxy({ host: '127.0.0.1', port: (await set.primary()).port }).listen();
    stage.owned.defer(() => proxy.close());
    const service = await stage.service({
      DATABASE_URL: `mongodb://127.0.0.1:${proxy.port}/${database}?directConnection=true`,
      AUTO_MIGRATE: 'true',
    });
    // Writes that wait in the driver for a connection meet the reset most often.
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
    stage.bar('slowest answer', figures(load.history).slowestAnswer ?? Infinity, SLOWEST_ANSWER_MS);
  },
};

export const NETWORK_SCENARIOS: readonly Scenario<MongoStore>[] = [resetConnections];
