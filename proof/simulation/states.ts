/**
 * Rare states, in the words of the promises. A search that never reaches one of them proves nothing about it. So a
 * schedule counts what it has reached, and a full run fails when a state of its scenario was never reached.
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
  'flush-failed': 'a flush failed, and a checkpoint saved what was committed',
  'read-stopped': 'a read stopped at the last pet that is on the disk',
  'drain-with-batch': 'a drain began while a batch was under way',
  replay: 'a repeated request was answered with the pet of the first one',
  'unavailable-stored': 'a 503 whose pet is stored',
  'unavailable-not-stored': 'a 503 whose pet is not stored',
  'key-in-use-ended': 'a key ended while a lookup of it was under way',
  'key-accepted-after-end': 'a key was accepted after its end, within the stated time',
  'key-refused-after-end': 'an ended key was refused',
} as const;

export type State = keyof typeof STATES;

export type Reached = {
  /** How many schedules have reached the state. */
  readonly schedules: number;
  /** The seed of the first one. */
  readonly firstSeed: number;
};

/** A line for each state of a scenario. */
export function describeStates(states: readonly State[], reached: ReadonlyMap<State, Reached>): string {
  const lines = states.map((state) => {
    const { schedules = 0, firstSeed } = reached.get(state) ?? {};
    const first = firstSeed === undefined ? '' : ` (first with seed ${firstSeed})`;
    return `${String(schedules).padStart(8)}  ${STATES[state]}${first}`;
  });
  return lines.join('\n');
}

/** The states of a scenario that no schedule has reached. */
export function neverReached(
  states: readonly State[],
  reached: ReadonlyMap<State, Reached>,
): readonly State[] {
  return states.filter((state) => !reached.has(state));
}
