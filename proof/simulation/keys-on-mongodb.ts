import { MongoApiKeyRepository } from '../../src/adapters/mongodb/api-key-repository.ts';
import { ConfirmedReads } from '../../src/adapters/mongodb/confirmed-reads.ts';
import { numbers } from '../../test/support/numbers.ts';
import { KeyCallers } from './key-callers.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { ReplicaSet } from './replica-set.ts';
import type { Scenario } from './run-schedule.ts';

/** The deadline of every call to the adapter. */
const LIMIT_MS = 20_000;

/** The longest time that a lookup waits for the next shared query. The deadline begins after this wait. */
const LOOKUP_PAUSE_MS = 6;

/** How long a verifier accepts a key without asking the storage. */
const ACCEPTED_MS = 5_000;

/**
 * After an election, a process may read from a deposed primary until it notices the election. An ended key is therefore
 * accepted for up to this time.
 */
const ACCEPTED_AFTER_ELECTION_MS = 10_000;

/**
 * One to three processes look up keys. The scenario tests shared queries, the cache of valid keys, and revocations by
 * other processes.
 */
export const keysOnMongodb: Scenario = {
  name: 'keys-on-mongodb',
  flaws: ['loses-commits', 'forgets-ends', 'never-notices', 'no-deadline'],
  states: ['key-in-use-ended', 'key-accepted-after-end', 'key-refused-after-end', 'deposed-read'],
  seedsOfRareStates: [],
  begin(simulation, flaw) {
    const set = new ReplicaSet(simulation, flaw);
    const clients = numbers(simulation.random.integer(1, 3)).map(() => new MongoClientModel(set));
    const timeoutMs = flaw === 'no-deadline' ? 100 * LIMIT_MS : LIMIT_MS;
    const callers = new KeyCallers(simulation, {
      repositories: clients.map(({ db }) => new MongoApiKeyRepository(db, new ConfirmedReads(db), timeoutMs)),
      limitMs: LIMIT_MS + LOOKUP_PAUSE_MS,
      maxAcceptedMs: () => (set.primary.term === 1 ? ACCEPTED_MS : ACCEPTED_AFTER_ELECTION_MS),
      stored: () =>
        set
          .committedEntries()
          .filter(({ collection }) => collection === 'api_keys')
          .map(({ id, document }) => ({ ...document, id })),
    });
    set.startElections();
    void callers.start();
    return () => callers.verify();
  },
};
