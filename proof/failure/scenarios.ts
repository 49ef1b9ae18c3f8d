import { join } from 'node:path';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { AWAY_SCENARIOS } from './away-scenarios.ts';
import { MONGODB_CLOCK_SCENARIO, SQLITE_CLOCK_SCENARIO } from './clock-scenarios.ts';
import { FLOOD_SCENARIOS } from './flood-scenarios.ts';
import { LOG_SCENARIOS } from './log-scenarios.ts';
import { FAILOVER_SCENARIOS } from './mongodb-failover-scenarios.ts';
import { PARTITION_SCENARIOS } from './mongodb-partition-scenarios.ts';
import { READS_SCENARIOS } from './mongodb-reads-scenario.ts';
import { MONGODB_SCENARIOS } from './mongodb-scenarios.ts';
import { type MongoScenario, surveyMembers } from './mongodb-store.ts';
import { ReplicaSet } from './replica-set.ts';
import { type PlayOptions, playAndCheck, type Result, type Scenario } from './scenario.ts';
import { SQLITE_FILE_SCENARIOS } from './sqlite-file-scenarios.ts';
import { SQLITE_SCENARIOS } from './sqlite-scenarios.ts';
import { type SqliteStore, surveyFile } from './sqlite-store.ts';

/** Plays one scenario after the other. Several lanes can play at the same time, each with its own replica set. */
export class Lane implements AsyncDisposable {
  #set: ReplicaSet | undefined;
  #databases = 0;

  async playOnFile(scenario: Scenario<SqliteStore>, options: PlayOptions): Promise<Result> {
    await using directory = await temporaryDirectory('failure');
    const store = { directory: directory.path, file: join(directory.path, 'petstore.db') };
    return await playAndCheck(scenario, store, surveyFile, options);
  }

  async playOnReplicaSet(scenario: MongoScenario, options: PlayOptions): Promise<Result> {
    if (scenario.replicaSet !== undefined) {
      await using set = await ReplicaSet.start(scenario.replicaSet);
      return await playAndCheck(scenario, { set, database: 'pets' }, surveyMembers, options);
    }
    this.#set ??= await ReplicaSet.start();
    const store = { set: this.#set, database: `pets_${this.#databases++}` };
    const result = await playAndCheck(scenario, store, surveyMembers, options);
    // After a failed scenario the replica set may be broken, so the next scenario starts a new one.
    if (result.failures.length > 0) await this[Symbol.asyncDispose]();
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#set?.[Symbol.asyncDispose]();
    this.#set = undefined;
  }
}

export type PlayableScenario = Pick<Scenario<never>, 'name' | 'isFullFormOnly' | 'isPlayedAlone'> & {
  readonly playOn: (lane: Lane, options: PlayOptions) => Promise<Result>;
};

const SQLITE = [...SQLITE_SCENARIOS, SQLITE_CLOCK_SCENARIO, ...SQLITE_FILE_SCENARIOS];
const LOG_AND_FLOODS = [...LOG_SCENARIOS, ...FLOOD_SCENARIOS];
const MONGODB: readonly MongoScenario[] = [
  ...MONGODB_SCENARIOS,
  ...FAILOVER_SCENARIOS,
  ...READS_SCENARIOS,
  MONGODB_CLOCK_SCENARIO,
  ...PARTITION_SCENARIOS,
  ...AWAY_SCENARIOS,
];

/** The scenarios of each storage. The scenarios of the log and of HAProxy do not depend on it, and use SQLite. */
export const PLAYS_ON: Readonly<Record<string, readonly PlayableScenario[]>> = {
  SQLite: [...SQLITE, ...LOG_AND_FLOODS].map((scenario) => ({
    ...scenario,
    playOn: (lane, options) => lane.playOnFile(scenario, options),
  })),
  MongoDB: MONGODB.map((scenario) => ({
    ...scenario,
    playOn: (lane, options) => lane.playOnReplicaSet(scenario, options),
  })),
  // The pets in memory are lost when the process ends, so no failure is tried.
  memory: [],
};

export const PLAYS = Object.values(PLAYS_ON).flat();
