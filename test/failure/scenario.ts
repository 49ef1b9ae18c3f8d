import { join } from 'node:path';
import { type Figures, figures } from './figures.ts';
import { writeHistory } from './history.ts';
import { replay } from './replay.ts';
import { type Bar, type Form, Stage } from './stage.ts';
import { type Places, type Verdict, verdict } from './verdict.ts';
import { walk } from './walk.ts';

/** What happens to a service on a given store. */
export type Scenario<Store> = {
  readonly name: string;
  /** Too long for the short form, which has a similar one. */
  readonly onlyInFull?: true;
  readonly play: (stage: Stage, store: Store) => Promise<void>;
};

export type Result = {
  readonly scenario: string;
  readonly figures: Figures | undefined;
  readonly verdict: Verdict | undefined;
  readonly bars: readonly Bar[];
  readonly notes: readonly string[];
  /** Why it could not be played here. */
  readonly leftOut: string | undefined;
  /** Why the scenario failed. Empty when it passed. */
  readonly broken: readonly string[];
};

/**
 * Plays a scenario. Then checks the stored pets, in the store itself and through the service, before and after a replay
 * of requests.
 *
 * @param how.survey reads the store without the service
 * @param how.histories the directory for the histories of the clients
 */
export async function perform<Store>(
  { name, play }: Scenario<Store>,
  store: Store,
  how: {
    readonly form: Form;
    readonly survey: (store: Store) => Promise<Places>;
    readonly histories: string;
  },
): Promise<Result> {
  await using stage = new Stage(how.form);
  let seen: Figures | undefined;
  let found: Verdict | undefined;
  try {
    await play(stage, store);
    for (const load of stage.loads) await load.stop();
    const [load] = stage.loads;
    const service = stage.services.find(({ isRunning }) => isRunning);
    if (load !== undefined) {
      await writeHistory(
        join(how.histories, `${name.replaceAll(/\W+/g, '-')}-${Date.now()}.ndjson`),
        load.history,
      );
      const { creates } = load.history;
      const places = async () => {
        const all = new Map(await how.survey(store));
        if (service !== undefined) all.set('the list of the service', await walk(service.url));
        return all;
      };
      seen = figures(load.history);
      found = verdict(creates, await places());
      stage.broken.push(...promisesBroken(seen, found));
      if (service !== undefined) {
        await replay(stage, service.url, creates);
        stage.broken.push(...promisesBroken(seen, verdict(creates, await places())));
      }
    }
    if (load === undefined && stage.leftOut === undefined) stage.broken.push('the scenario sent no load');
    for (const { errors, url } of stage.services) {
      stage.expect(`the service at ${url} logs no error; it did: ${errors.slice(0, 2000)}`, errors === '');
    }
  } catch (error) {
    stage.broken.push(`did not finish: ${error instanceof Error ? error.stack : String(error)}`);
  }
  const { bars, notes, leftOut } = stage;
  const broken = [...new Set(stage.broken)];
  return { scenario: name, figures: seen, verdict: found, bars, notes, leftOut, broken };
}

/** The promises that hold in every scenario. */
function promisesBroken(seen: Figures, found: Verdict): string[] {
  const mustBeZero = {
    'acknowledged and lost': found.lost,
    'keys with two pets': found.duplicates,
    'ids issued twice': found.idsTwice,
    'pets that no client asked for': found.unrequested,
    'answers that blame the wrong side': seen.wronglyBlamed,
    '5xx other than 503': seen.serverErrors,
    '503 without Retry-After': seen.withoutRetryAfter,
    'acknowledged pets that a GET did not find': seen.missing,
    'acknowledged pets that a GET found changed': seen.different,
  };
  const broken = Object.entries(mustBeZero).filter(([, value]) => value !== 0);
  return [
    ...broken.map(([what, value]) => `${what}: ${value}, must be 0`),
    ...found.examples.slice(0, 5),
    // Fewer prove nothing.
    ...(seen.acknowledged < 20 ? [`only ${seen.acknowledged} pets were acknowledged`] : []),
  ];
}
