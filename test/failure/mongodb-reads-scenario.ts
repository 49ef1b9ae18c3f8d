import { setTimeout as sleep } from 'node:timers/promises';
import type { Load } from './load.ts';
import { type MongoStore, serviceOn } from './mongodb-store.ts';
import { Readers } from './readers.ts';
import type { Scenario } from './scenario.ts';

/** How long the new primary does not show the majority commit point. */
const LATE_MS = 150;

/** One service adds pets and another one reads them, while the primary changes all the time. */
const readElsewhere: Scenario<MongoStore> = {
  name: 'MongoDB: a step-down every second, pets read from another service',
  async play(stage, store) {
    const [writer, reader] = [await serviceOn(stage, store), await serviceOn(stage, store)];
    const load = await stage.load([writer], { clients: 8, pauseMs: 5 });
    const readers = new Readers(reader.url, load.history.creates);
    stage.owned.defer(() => readers.stop());
    await stage.letRun(2);
    load.fault();
    const primaries = [await store.set.primary()];
    for (let second = 0; second < 30; second++) {
      await changePrimary(store, load, second);
      await stage.letRun(1);
      primaries.push(await store.set.primary());
    }
    load.healed();
    await stage.letRun(2);
    await load.stop();
    await readers.stop();

    const changes = primaries.filter(
      (primary, index) => index > 0 && primary !== primaries[index - 1],
    ).length;
    const { checked, statuses, stale } = readers;
    stage.expect(`the primary changes all the time (it changed ${changes} times)`, changes >= 15);
    stage.expect('enough reads are checked', checked.gets > 200 && checked.pages > 200);
    stage.bar('acknowledged pets that a read missed', stale.length, 0, '');
    const answers = [...statuses].map(([status, count]) => `${status}: ${count}`).join(', ');
    const other = [...statuses].filter(([status]) => ![200, 404, 503].includes(Number(status)));
    stage.bar('reads answered with another status than 200, 404 or 503', other.length, 0, '');
    stage.broken.push(...stale.slice(0, 5));
    stage.notes.push(
      `${changes} changes of the primary; ${checked.gets} reads of a pet and ${checked.pages} of a page were checked ` +
        `(answers: ${answers}); the slowest took ${Math.round(readers.slowestMs)} ms`,
    );
  },
};

/**
 * In even turns the primary steps down. In odd turns it is replaced by a secondary that learns the majority commit
 * point late, as happens where the members are far apart. MongoDB may refuse a change that comes too soon.
 */
async function changePrimary({ set }: MongoStore, load: Load, turn: number): Promise<void> {
  if (turn % 2 === 0) {
    const primary = await set.primary();
    await primary.admin({ replSetStepDown: 1, secondaryCatchUpPeriodSecs: 1 }).catch(() => undefined);
    return;
  }
  const secondaries = await set.secondaries();
  const next = secondaries[turn % secondaries.length];
  await next?.admin({ configureFailPoint: 'disableSnapshotting', mode: 'alwaysOn' });
  // Pets that the secondary does not show.
  await load.acknowledges(4);
  await next?.admin({ replSetStepUp: 1 }).catch(() => undefined);
  await sleep(LATE_MS);
  await next?.admin({ configureFailPoint: 'disableSnapshotting', mode: 'off' });
}

export const READS_SCENARIOS: readonly Scenario<MongoStore>[] = [readElsewhere];
