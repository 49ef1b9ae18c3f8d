import { type Document, Long } from 'mongodb';
import { ConfirmedReads } from '../../src/adapters/mongodb/confirmed-reads.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import { toBigInt } from '../../src/adapters/mongodb/schema/long.ts';
import type { PetStatus } from '../../src/domain/pet.ts';
import { numbers } from '../support/numbers.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { PetCallers, type StoredPet } from './pet-callers.ts';
import { ReplicaSet } from './replica-set.ts';
import type { Scenario } from './run-schedule.ts';

/** The limit of every call. */
const LIMIT_MS = 10_000;

const COUNTER = { collection: 'counters', id: 'pets' } as const;

/** The id allocator, shared round trips, confirmed reads, deadlines and retries of one to three processes. */
export const petsOnMongodb: Scenario = {
  name: 'pets-on-mongodb',
  flaws: [
    'loses-commits',
    'acknowledges-early',
    'confirms-nothing',
    'leases-twice',
    'forgets-keys',
    'no-deadline',
  ],
  begin(simulation, flaw) {
    const set = new ReplicaSet(simulation, flaw);
    set.write({ ...COUNTER, document: counterAt(0) });
    const clients = numbers(simulation.random.pick([1, 2, 3, 3])).map(() => new MongoClientModel(set));
    startDamage(set);
    const callers = new PetCallers(simulation, {
      repositories: clients.map(({ db }) => {
        const timeoutMs = flaw === 'no-deadline' ? 100 * LIMIT_MS : LIMIT_MS;
        return new MongoPetRepository(db, new ConfirmedReads(db), { timeoutMs });
      }),
      limitMs: LIMIT_MS,
      isDurable: ({ id }) => set.isCommitted('pets', String(id)),
      mayListMiss: (process) => {
        const client = clients[process]!;
        const { elections, isFooled } = client;
        return () => isFooled || client.elections !== elections;
      },
      ascends: () => !set.isCounterDamaged,
      isOpen: () => true,
      stored: () => storedIn(set),
    });
    set.startElections();
    void callers.start();
    return () => {
      callers.verify();
      const { unavailable } = callers;
      const mustWork = simulation.isMild && areFewLost(clients);
      simulation.check(
        !mustWork || unavailable.length === 0,
        () => `a retry was possible: ${unavailable.join(', ')}`,
      );
    };
  },
};

/** In some schedules, an operator deletes the counter of ids or sets it back. */
function startDamage(set: ReplicaSet): void {
  const { random } = set.simulation;
  if (!random.chance(0.2)) return;
  set.isCounterDamaged = true;
  for (const _ of numbers(random.integer(1, 3))) {
    set.simulation.later('the counter is damaged', random.between(0, 3_000), () => {
      set.write({ ...COUNTER, document: random.chance(0.5) ? undefined : counterAt(random.integer(0, 3)) });
    });
  }
}

/**
 * Whether the failures were such that retries could have hidden all of them from the callers: no election, and no lost
 * call to the collection of pets, because the adapter waits for those until the deadline. It gives up one lost call to
 * the counter.
 */
function areFewLost(clients: readonly MongoClientModel[]): boolean {
  return clients.every(
    ({ elections, lostOnPets, lostElsewhere }) => elections === 0 && lostOnPets === 0 && lostElsewhere <= 1,
  );
}

function counterAt(last: number): Document {
  return { _id: 'pets', last: Long.fromNumber(last) };
}

function storedIn(set: ReplicaSet): readonly StoredPet[] {
  return set
    .committed()
    .filter(({ collection }) => collection === 'pets')
    .map(({ document }) => ({
      id: toBigInt(document!['_id'] as Long),
      name: String(document!['name']),
      categoryId: toBigInt(document!['categoryId'] as Long),
      status: document!['status'] as PetStatus,
      key: document!['idem']?.k as string | undefined,
    }));
}
