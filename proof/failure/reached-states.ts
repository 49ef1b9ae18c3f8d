import type { State } from '../states.ts';
import { type Create, type History, wantedPetsOf } from './history.ts';

/** The rare states that a full run must reach. `proof/states.ts` describes them. */
export const FAILURE_STATES: readonly State[] = [
  'replay',
  'replay-over-rotation',
  'answered-503-stored',
  'answered-503-not-stored',
  'lost-answer-stored',
  'lost-answer-not-stored',
  'drain-during-batch',
  'read-over-election',
  'key-refused-after-end',
];

/** A read that takes longer than this must have waited for the storage. */
const WAITED_MS = 500;

/** Finds the rare states in a history. Call it after the first survey, and before requests are repeated. */
export function findReachedStates({ calls, fault }: History, scenario: string): Set<State> {
  const reachedStates = new Set<State>();
  const storedPets = calls.flatMap((call) => (call.type === 'survey' ? call.pets : []));
  const storedContents = new Set(storedPets.map(contentOf));
  for (const { attempts, outcome } of wantedPetsOf({ calls } as History)) {
    const suffix = storedContents.has(attempts[0]!.content) ? 'stored' : 'not-stored';
    if (attempts.some(({ replayed }) => replayed === true)) reachedStates.add('replay');
    if (outcome !== 'unknown') continue;
    if (attempts.every(({ status }) => status === 503)) reachedStates.add(`answered-503-${suffix}`);
    if (attempts.every(({ status }) => status === undefined)) reachedStates.add(`lost-answer-${suffix}`);
  }
  for (const call of calls) {
    if (!('status' in call)) continue;
    if (call.status === 401) reachedStates.add('key-refused-after-end');
    const hasWaited = call.type !== 'create' && call.endMs - call.beginMs > WAITED_MS;
    const isDuringFault = fault !== undefined && call.beginMs > fault.from && call.beginMs < fault.to;
    if (scenario.startsWith('MongoDB') && call.status === 200 && hasWaited && isDuringFault)
      reachedStates.add('read-over-election');
  }
  return reachedStates;
}

/** Whether the service at `url` added a pet for a request that was running when the drain of the service began. */
export function hasDrainedBatch(history: History, url: string, drainMs: number): boolean {
  const isDrained = (call: Create) => call.beginMs < drainMs && call.endMs > drainMs && call.status === 201;
  return history.calls.some((call) => call.type === 'create' && call.url.startsWith(url) && isDrained(call));
}

/** The JSON of a pet after its id. */
function contentOf(json: string): string {
  return json.slice(json.indexOf(',') + 1);
}
