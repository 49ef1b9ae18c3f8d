import { setTimeout as sleep } from 'node:timers/promises';
import { computeFigures } from './figures.ts';
import type { Load } from './load.ts';
import { type MongoStore, startServicesOn } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import { countRevocations } from './turn-over-keys.ts';

/** For this time, the new primary cannot find out which writes a majority of the members has. */
const SNAPSHOT_DELAY_MS = 150;

/** Clients of two services add pets and read the pets of all clients, while the primary changes about every second. */
const changePrimaries: Scenario<MongoStore> = {
  name: 'MongoDB: a step-down every second, two services',
  async play(stage, store) {
    const services = await startServicesOn(stage, store);
    const load = await stage.startLoad(services, { pauseMs: 5 });
    stage.turnOverKeys(load, services[0]);
    await stage.letRun(2);
    load.beginFault();
    const primaries = [await store.set.primary()];
    const seconds = stage.form === 'short' ? 15 : 30;
    // At least 20 requests must use a key that was revoked more than 10 s before. On a slow machine, the commands that
    // revoke keys take long, so the primary is changed more often until there are 20 such requests.
    const isComplete = () => primaries.length > seconds && countRevocations(load.history).lateRequests >= 20;
    for (let second = 0; second < 100 && !isComplete(); second++) {
      await changePrimary(store, load, second);
      await stage.letRun(1);
      primaries.push(await store.set.primary());
    }
    load.endFault();
    await stage.letRun(2);
    await stage.stopLoads();

    const changes = primaries.filter(
      (primary, index) => index > 0 && primary !== primaries[index - 1],
    ).length;
    const { answeredReads } = computeFigures(load.history);
    stage.expect(
      `the primary changes in at least half of the turns (it changed ${changes} times)`,
      changes >= primaries.length / 2,
    );
    stage.expect(`enough reads are checked (there were ${answeredReads})`, answeredReads > 100);
    stage.expectRevokedKeys(load);
    stage.notes.push(`${changes} changes of the primary, ${answeredReads} reads`);
  },
};

/**
 * In even turns the primary steps down. In odd turns the primary is replaced by a secondary that learns late which
 * writes a majority has, as happens where the members are far apart. MongoDB may refuse a change soon after another
 * change.
 */
async function changePrimary({ set }: MongoStore, load: Load, turn: number): Promise<void> {
  if (turn % 2 === 0) {
    const primary = await set.primary();
    await primary.admin({ replSetStepDown: 1, secondaryCatchUpPeriodSecs: 1 }).catch(() => undefined);
    return;
  }
  const secondaries = await set.secondaries();
  const nextPrimary = secondaries[turn % secondaries.length];
  await nextPrimary?.admin({ configureFailPoint: 'disableSnapshotting', mode: 'alwaysOn' });
  // The secondary stores these pets, but does not yet show them to readers.
  await load.waitForAcknowledgements(4);
  await nextPrimary?.admin({ replSetStepUp: 1 }).catch(() => undefined);
  await sleep(SNAPSHOT_DELAY_MS);
  await nextPrimary?.admin({ configureFailPoint: 'disableSnapshotting', mode: 'off' });
}

export const READS_SCENARIOS: readonly Scenario<MongoStore>[] = [changePrimaries];
