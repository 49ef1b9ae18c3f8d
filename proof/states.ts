/**
 * Rare states. A search proves nothing about a state that it never reaches. Therefore the simulation, the failure suite
 * and the fuzzer count the states that they reach, and a full run fails when it never reaches one of its states.
 *
 * A fence is a document that reserves ids on MongoDB. A deposed primary does not know yet that another member has won
 * an election.
 */
export const STATES = {
  fence: 'after an election, a fence took the id of an earlier insert that could still arrive',
  'later-term': 'an insert was sent a second time, after an election',
  'duplicate-not-durable': 'a reply had a duplicate key and a write concern error',
  prefix: 'the first pets of a batch were stored, and the remaining pets were rejected',
  'read-confirmed': 'a read waited until the primary proved that it was not deposed',
  'read-refused': 'a primary could not prove that it was not deposed',
  'read-unconfirmed': 'a read needed no proof that the primary was not deposed',
  'deposed-read': 'a deposed primary answered a read',
  'former-primary': 'a former primary won an election and kept its whole log',
  'documented-gap': 'a list missed a pet, because the primary was deposed and the service could not know it',
  'commit-during-flush': 'a batch was committed while a flush was under way',
  'two-flushes': 'two flushes were under way at the same time',
  'read-beside-hidden-pets': 'a read was made while some stored pets were not durable yet',
  'drain-during-batch': 'a drain began while a batch of inserts was under way',
  replay: 'a repeated request was answered with the pet of the first request',
  'answered-503-stored': 'a request was answered with 503, and its pet is stored',
  'answered-503-not-stored': 'a request was answered with 503, and its pet is not stored',
  'lost-answer-stored': 'a request got no answer, and its pet is stored',
  'lost-answer-not-stored': 'a request got no answer, and its pet is not stored',
  'read-over-election': 'a read waited during a fault of MongoDB, and was answered',
  'replay-over-rotation':
    'a request was repeated with the successor of its API key, and was answered with the pet of the first request',
  'pet-added': 'a request that the fuzzer had changed or split added a pet',
  'key-reused': 'a pet was refused, because its Idempotency-Key belongs to a different pet',
  'no-http': 'bytes that are no HTTP request were refused',
  'too-late': 'an unfinished request was refused at its time limit',
  'too-large': 'a request was refused, because a part of it is too large',
  'no-key': 'a request without a valid API key was refused',
  'answered-in-order': 'several requests on one connection were answered in their order',
  'told-to-continue': 'a client was told to send its body (100 Continue)',
  'ignored-after-close': 'requests after the last answered request of a connection were ignored',
  'key-in-use-ended': 'an API key ended during a lookup of the key',
  'key-accepted-after-end': 'an API key was accepted after its end, within the documented time',
  'key-refused-after-end': 'an API key was refused after its end',
} as const;

export type State = keyof typeof STATES;

/** By state: how many schedules, scenarios or cases have reached it, and the number of the first one that has. */
export type ReachedStates = Map<State, { readonly times: number; readonly first: number }>;

/** Adds the states that the schedule, the scenario or the case with this number has reached. */
export function noteReached(reached: ReachedStates, states: Iterable<State>, number: number): void {
  for (const state of states) {
    const { times, first } = reached.get(state) ?? { times: 0, first: number };
    reached.set(state, { times: times + 1, first });
  }
}

/** Returns one line per state, with its count. The line of a state that was never reached has NEVER as its count. */
export function describeStates(states: readonly State[], reached: ReachedStates): string {
  const lines = states.map((state) => {
    const { times, first } = reached.get(state) ?? { times: 'NEVER' };
    return `${String(times).padStart(8)}  ${STATES[state]}${first === undefined ? '' : ` (first: ${first})`}`;
  });
  return lines.join('\n');
}
