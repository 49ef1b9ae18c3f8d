import { join } from 'node:path';
import { checkHistory, type Verdict } from './check-history.ts';
import { type Figures, computeFigures } from './figures.ts';
import { type History, writeHistory } from './history.ts';
import type { State } from '../states.ts';
import { findReachedStates } from './reached-states.ts';
import { repeatRequests } from './replay.ts';
import { type BoundedFigure, type Form, Stage } from './stage.ts';
import type { PetsByPlace } from './stored-pet.ts';
import { readAllPages } from './walk.ts';

/** What happens to a service on a storage. `Store` says where the storage is: a file or a replica set. */
export type Scenario<Store> = {
  readonly name: string;
  /** The scenario is too long for the short form, which has a similar scenario. */
  readonly isFullFormOnly?: true;
  /** The scenario expects times of about a second, and other work on the machine would make the service too slow. */
  readonly isPlayedAlone?: true;
  readonly play: (stage: Stage, store: Store) => Promise<void>;
};

export type Result = {
  readonly scenario: string;
  readonly figures: Figures | undefined;
  readonly verdict: Verdict | undefined;
  readonly boundedFigures: readonly BoundedFigure[];
  readonly notes: readonly string[];
  readonly reachedStates: ReadonlySet<State>;
  /** Why the scenario could not be played on this machine. */
  readonly skipReason: string | undefined;
  /** Why the scenario failed. Empty when it passed. */
  readonly failures: readonly string[];
};

export type PlayOptions = {
  readonly form: Form;
  /** The directory for the histories of failed scenarios. */
  readonly historyDirectory: string;
  /** Decides what the clients send. */
  readonly seed: number;
};

/**
 * Plays a scenario. Then reads the stored pets from the storage itself and through every service, repeats some
 * requests, and reads the stored pets again. All this is part of the history, which is checked at the end.
 *
 * @param readStoredPets reads the storage without the service
 */
export async function playAndCheck<Store>(
  { name, play }: Scenario<Store>,
  store: Store,
  readStoredPets: (store: Store) => Promise<PetsByPlace>,
  options: PlayOptions,
): Promise<Result> {
  await using stage = new Stage(options.form, options.seed);
  let figures: Figures | undefined;
  let verdict: Verdict | undefined;
  try {
    await play(stage, store);
    await stage.stopLoads();
    const [load] = stage.loads;
    if (load !== undefined) {
      const { history } = load;
      figures = computeFigures(history);
      const runningServices = stage.services.filter(({ isRunning }) => isRunning);
      const recordStoredPets = async () => {
        await recordSurvey(history, () => readStoredPets(store));
        for (const { url } of runningServices) history.calls.push(...(await readAllPages(url)));
      };
      await recordStoredPets();
      for (const state of findReachedStates(history, name)) stage.reachedStates.add(state);
      const [service] = runningServices;
      if (service !== undefined) {
        const wrongReplays = await repeatRequests(service, load);
        if (load.apiKeys.length > 0) stage.reachedStates.add('replay-over-rotation');
        if (wrongReplays.length > 0)
          stage.failures.push(`wrong replays: ${wrongReplays.length}, such as ${wrongReplays[0]}`);
        await recordStoredPets();
      }
      verdict = checkHistory(history);
      stage.failures.push(...findCommonFailures(figures, verdict));
    }
    if (load === undefined && stage.skipReason === undefined) stage.failures.push('no load was sent');
    for (const { errors, url } of stage.services) {
      stage.expect(`the service at ${url} logs no error; it did: ${errors.slice(0, 2000)}`, errors === '');
    }
  } catch (error) {
    stage.failures.push(`did not finish: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const [firstLoad] = stage.loads;
  if (stage.failures.length > 0 && firstLoad !== undefined) {
    const file = `${name.replaceAll(/\W+/g, '-')}-${options.seed}-${Date.now()}.ndjson`;
    await writeHistory(join(options.historyDirectory, file), firstLoad.history);
  }
  const { boundedFigures, notes, skipReason, reachedStates } = stage;
  const failures = [...new Set(stage.failures)];
  return { scenario: name, figures, verdict, boundedFigures, notes, reachedStates, skipReason, failures };
}

async function recordSurvey(history: History, readPets: () => Promise<PetsByPlace>): Promise<void> {
  const beginMs = performance.now();
  const surveys = await readPets();
  const endMs = performance.now();
  for (const [place, pets] of surveys) history.calls.push({ type: 'survey', place, beginMs, endMs, pets });
}

/** Checks what every scenario must fulfil. Returns a text for each failure. */
function findCommonFailures(figures: Figures, { violations }: Verdict): string[] {
  const mustBeZero = {
    violations: violations.length,
    'wrongly blamed requests': figures.wronglyBlamedRequests,
    '5xx other than 503': figures.other5xx,
    '503 without Retry-After': figures.answers503WithoutRetryAfter,
  };
  const nonZeroCounts = Object.entries(mustBeZero).filter(([, value]) => value !== 0);
  return [
    ...nonZeroCounts.map(([what, value]) => `${what}: ${value}, must be 0`),
    ...violations.slice(0, 5).map(({ rule, what }) => `${rule}: ${what}`),
    // A run with fewer pets or reads proves nothing.
    ...(figures.acknowledgedPets < 20 ? [`only ${figures.acknowledgedPets} pets were acknowledged`] : []),
    ...(figures.answeredReads < 10 ? [`only ${figures.answeredReads} reads were answered`] : []),
  ];
}
