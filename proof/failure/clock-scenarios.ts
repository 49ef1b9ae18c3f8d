import type { MongoStore } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import type { Env, ServiceProcess } from './service-process.ts';
import type { SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { countRevocations } from './turn-over-keys.ts';

/** A service with this environment moves its clock by an hour or a year when it receives the signal SIGUSR2. */
const CLOCK_ENV: Env = { NODE_OPTIONS: `--import ${new URL('./jumping-clock.ts', import.meta.url).href}` };

const YEAR_MS = 365 * 24 * 3_600_000;

const MIN_JUMPS = 10;

/** The scenario makes no more jumps than this on a slow machine, where few API keys are revoked per second. */
const MAX_JUMPS = 100;

/** Moves the clocks of the services in turn, while API keys are created and revoked under load. */
async function moveClocks(stage: Stage, services: readonly ServiceProcess[]): Promise<void> {
  const load = await stage.startLoad(services);
  const [first] = services;
  if (first !== undefined) stage.turnOverKeys(load, first);
  await stage.letRun(1);
  load.beginFault();
  let jumps = 0;
  // The jumps continue until 20 requests have used an API key 10 s after its revocation.
  const countLate = () => countRevocations(load.history).lateRequests;
  for (; jumps < MIN_JUMPS || (countLate() < 20 && jumps < MAX_JUMPS); jumps++) {
    services[jumps % services.length]?.moveClock();
    await stage.letRun(1);
  }
  load.endFault();
  await stage.stopLoads();
  for (const { logTimesMs } of services) {
    const latestMs = logTimesMs.reduce((a, b) => Math.max(a, b), 0);
    const hasMoved = latestMs - Date.now() > YEAR_MS / 2 && logTimesMs.some((ms) => latestMs - ms > YEAR_MS);
    stage.expect('the clock of each service jumped', hasMoved);
  }
  stage.expectRevokedKeys(load);
  stage.notes.push(`${jumps} jumps of a clock by an hour or a year`);
}

export const SQLITE_CLOCK_SCENARIO: Scenario<SqliteStore> = {
  name: 'SQLite: the clock of the service jumps',
  async play(stage, { file }) {
    await moveClocks(stage, [await stage.startService({ DATABASE_URL: `sqlite:${file}`, ...CLOCK_ENV })]);
  },
};

export const MONGODB_CLOCK_SCENARIO: Scenario<MongoStore> = {
  name: 'MongoDB: the clocks of two services jump',
  isFullFormOnly: true,
  async play(stage, { set, database }) {
    const env = { DATABASE_URL: set.url(database), AUTO_MIGRATE: 'true', ...CLOCK_ENV };
    await moveClocks(stage, [await stage.startService(env), await stage.startService(env)]);
  },
};
