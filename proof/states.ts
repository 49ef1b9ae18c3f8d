/**
 * Rare states, in the words of the promises. A search that never reaches one of them proves nothing about it. So the
 * simulation, the failure suite and the fuzzer count what they have reached, and a full run fails when it never reached
 * one of its states.
 */
export const STATES = {
  fence: 'after an election, a fence took an id that an insert from before could still take',
  'later-term': 'a batch was sent again under a later term of the primary',
  'duplicate-not-durable': 'a duplicate key came together with a write concern error',
  prefix: 'the first pets of a batch were stored, and the rest was rejected',
  'read-confirmed': 'a read waited until the primary was confirmed',
  'read-refused': 'a deposed primary did not confirm a read',
  'read-unconfirmed': 'a read needed no confirmation',
  'deposed-read': 'a deposed primary answered a read',
  'former-primary': 'a former primary came back with everything in its log',
  'documented-gap': 'a list missed a pet, because its primary was deposed and the service could not know',
  'flush-and-gathering': 'a flush was under way while a batch gathered',
  'two-flushes': 'two flushes were under way',
  'read-stopped': 'a read stopped at the last pet that is on the disk',
  'drain-with-batch': 'a drain began while a batch was under way',
  replay: 'a repeated request was answered with the pet of the first one',
  'unavailable-stored': 'a 503 whose pet is stored',
  'unavailable-not-stored': 'a 503 whose pet is not stored',
  'lost-answer-stored': 'a pet is stored whose answer was lost',
  'lost-answer-not-stored': 'a request was lost, and its pet is not stored',
  'read-over-election': 'a read that met no primary was answered by the next one',
  'replay-over-rotation':
    'a request was repeated with the successor of its API key, and got the pet of the first one',
  'pet-added': 'a changed or split request added a pet',
  'key-reused': 'another pet was refused under an Idempotency-Key that has one',
  'no-http': 'what is no HTTP request was refused',
  'too-late': 'an unfinished request met its time limit',
  'too-large': 'a request was refused because a part of it is too large',
  'no-key': 'a request without a valid key was refused',
  'answered-in-order': 'several requests of one connection were answered in their order',
  'told-to-continue': 'a client was told to send its body',
  'ignored-after-close': 'requests behind the last answer of a connection were ignored',
  'key-in-use-ended': 'a key ended while a lookup of it was under way',
  'key-accepted-after-end': 'a key was accepted after its end, within the stated time',
  'key-refused-after-end': 'an ended key was refused',
} as const;

export type State = keyof typeof STATES;

/** What a run has reached: how many schedules, scenarios or cases, and the number of the first one. */
export type Reached = Map<State, { readonly times: number; readonly first: number }>;

/** Notes what the schedule, the scenario or the case with this number has reached. */
export function noteReached(reached: Reached, states: Iterable<State>, number: number): void {
  for (const state of states) {
    const { times, first } = reached.get(state) ?? { times: 0, first: number };
    reached.set(state, { times: times + 1, first });
  }
}

/** A line for each of these states, with NEVER where one was not reached. */
export function describeStates(states: readonly State[], reached: Reached): string {
  const lines = states.map((state) => {
    const { times, first } = reached.get(state) ?? { times: 'NEVER' };
    return `${String(times).padStart(8)}  ${STATES[state]}${first === undefined ? '' : ` (first: ${first})`}`;
  });
  return lines.join('\n');
}
