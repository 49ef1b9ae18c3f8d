import { join } from 'node:path';
import { checkHistory, type Verdict } from './check-history.ts';
import { type Figures, figures } from './figures.ts';
import { type History, writeHistory } from './history.ts';
import type { State } from '../states.ts';
import { reachedBy } from './reached-states.ts';
import { replay } from './replay.ts';
import { type Bar, type Form, Stage } from './stage.ts';
import type { Places } from './stored-pet.ts';
import { walk } from './walk.ts';

/** What happens to a service on a given store. */
export type Scenario<Store> = {
  readonly name: string;
  /** Too long for the short form, which has a similar one. */
  readonly onlyInFull?: true;
  /** Its bars depend on times of the order of a second. Other work on the machine would count as time of the service. */
  readonly alone?: true;
  readonly play: (stage: Stage, store: Store) => Promise<void>;
};

export type Result = {
  readonly scenario: string;
  readonly figures: Figures | undefined;
  readonly verdict: Verdict | undefined;
  readonly bars: readonly Bar[];
  readonly notes: readonly string[];
  readonly reached: ReadonlySet<State>;
  /** Why it could not be played here. */
  readonly leftOut: string | undefined;
  /** Why the scenario failed. Empty when it passed. */
  readonly broken: readonly string[];
};

export type How = {
  readonly form: Form;
  /** The directory for the histories of failed scenarios. */
  readonly histories: string;
  /** Decides what the clients send. */
  readonly seed: number;
};

/**
 * Plays a scenario. Then records the stored pets, in the store itself and through every service, repeats requests, and
 * records the stored pets again. The whole history is checked at the end.
 *
 * @param survey reads the store without the service
 */
export async function perform<Store>(
  { name, play }: Scenario<Store>,
  store: Store,
  survey: (store: Store) => Promise<Places>,
  how: How,
): Promise<Result> {
  await using stage = new Stage(how.form, how.seed);
  let seen: Figures | undefined;
  let verdict: Verdict | undefined;
  try {
    await play(stage, store);
    await stage.rest();
    const [load] = stage.loads;
    if (load !== undefined) {
      const { history } = load;
      seen = figures(history);
      const running = stage.services.filter(({ isRunning }) => isRunning);
      const look = async () => {
        await record(history, () => survey(store));
        for (const { url } of running) history.calls.push(...(await walk(url)));
      };
      await look();
      for (const state of reachedBy(history, name)) stage.reached.add(state);
      const [service] = running;
      if (service !== undefined) {
        const failures = await replay(service, load);
        if (load.keys.length > 0) stage.reached.add('replay-over-rotation');
        if (failures.length > 0)
          stage.broken.push(`wrong replays: ${failures.length}, such as ${failures[0]}`);
        await look();
      }
      verdict = checkHistory(history);
      stage.broken.push(...promisesBroken(seen, verdict));
    }
    if (load === undefined && stage.leftOut === undefined) stage.broken.push('the scenario sent no load');
    for (const { errors, url } of stage.services) {
      stage.expect(`the service at ${url} logs no error; it did: ${errors.slice(0, 2000)}`, errors === '');
    }
  } catch (error) {
    stage.broken.push(`did not finish: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const [kept] = stage.loads;
  if (stage.broken.length > 0 && kept !== undefined) {
    const file = `${name.replaceAll(/\W+/g, '-')}-${how.seed}-${Date.now()}.ndjson`;
    await writeHistory(join(how.histories, file), kept.history);
  }
  const { bars, notes, leftOut, reached } = stage;
  const broken = [...new Set(stage.broken)];
  return { scenario: name, figures: seen, verdict, bars, notes, reached, leftOut, broken };
}

async function record(history: History, look: () => Promise<Places>): Promise<void> {
  const beginMs = performance.now();
  const places = await look();
  const endMs = performance.now();
  for (const [place, pets] of places) history.calls.push({ type: 'survey', place, beginMs, endMs, pets });
}

/** The promises that hold in every scenario. */
function promisesBroken(seen: Figures, { violations }: Verdict): string[] {
  const mustBeZero = {
    violations: violations.length,
    'answers that blame the wrong side': seen.wronglyBlamed,
    '5xx other than 503': seen.serverErrors,
    '503 without Retry-After': seen.withoutRetryAfter,
  };
  const broken = Object.entries(mustBeZero).filter(([, value]) => value !== 0);
  return [
    ...broken.map(([what, value]) => `${what}: ${value}, must be 0`),
    ...violations.slice(0, 5).map(({ rule, what }) => `${rule}: ${what}`),
    // Fewer prove nothing.
    ...(seen.acknowledged < 20 ? [`only ${seen.acknowledged} pets were acknowledged`] : []),
    ...(seen.reads < 10 ? [`only ${seen.reads} reads were answered`] : []),
  ];
}
