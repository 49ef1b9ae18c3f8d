import type { MongoStore } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import type { Env, ServiceProcess } from './service-process.ts';
import type { SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { revocations } from './turn-over-keys.ts';

/** Lets SIGUSR2 move the clock of a service. */
const JUMPING_CLOCK: Env = {
  NODE_OPTIONS: `--import ${new URL('./jumping-clock.ts', import.meta.url).href}`,
};

const YEAR_MS = 365 * 24 * 3_600_000;

const JUMPS = 10;

/** For a machine on which the commands that create and revoke a key take long. */
const MOST_JUMPS = 100;

/** The clocks of the services jump, each at its own times, while API keys come and go. */
async function jump(stage: Stage, services: readonly ServiceProcess[]): Promise<void> {
  const load = await stage.load(services);
  const [first] = services;
  if (first !== undefined) stage.turnOverKeys(load, first);
  await stage.letRun(1);
  load.fault();
  let jumps = 0;
  for (; jumps < JUMPS || (revocations(load.history).uses < 20 && jumps < MOST_JUMPS); jumps++) {
    services[jumps % services.length]?.moveClock();
    await stage.letRun(1);
  }
  load.healed();
  await stage.rest();
  for (const { logTimesMs } of services) {
    const latestMs = logTimesMs.reduce((a, b) => Math.max(a, b), 0);
    const isMoved = latestMs - Date.now() > YEAR_MS / 2 && logTimesMs.some((ms) => latestMs - ms > YEAR_MS);
    stage.expect('the clock of each service jumped', isMoved);
  }
  stage.expectRevokedKeys(load);
  stage.notes.push(`${jumps} jumps of a clock by an hour or a year`);
}

export const SQLITE_CLOCK_SCENARIO: Scenario<SqliteStore> = {
  name: 'SQLite: the clock of the service jumps',
  async play(stage, { file }) {
    await jump(stage, [await stage.service({ DATABASE_URL: `sqlite:${file}`, ...JUMPING_CLOCK })]);
  },
};

export const MONGODB_CLOCK_SCENARIO: Scenario<MongoStore> = {
  name: 'MongoDB: the clocks of two services jump',
  onlyInFull: true,
  async play(stage, { set, database }) {
    const env = { DATABASE_URL: set.url(database), AUTO_MIGRATE: 'true', ...JUMPING_CLOCK };
    await jump(stage, [await stage.service(env), await stage.service(env)]);
  },
};
