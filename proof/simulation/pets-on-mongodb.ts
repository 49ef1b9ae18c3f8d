import { Long } from 'mongodb';
import { ConfirmedReads } from '../../src/adapters/mongodb/confirmed-reads.ts';
import { MongoPetArchive } from '../../src/adapters/mongodb/pet-archive.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import { toBigInt } from '../../src/adapters/mongodb/int64.ts';
import type { PetStatus } from '../../src/domain/pet.ts';
import { numbers } from '../../test/support/numbers.ts';
import { aPet } from '../../test/support/pets.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { PetCallers, type StoredPet } from './pet-callers.ts';
import { ReplicaSet } from './replica-set.ts';
import type { Scenario } from './run-schedule.ts';
import type { Simulation } from './simulation.ts';

/** The limit of every call. */
const LIMIT_MS = 20_000;

/** Claims of ids, reservations, shared round trips, confirmed reads, deadlines and retries of one to three processes. */
export const petsOnMongodb: Scenario = {
  name: 'pets-on-mongodb',
  flaws: [
    'loses-commits',
    'acknowledges-early',
    'confirms-nothing',
    'forgets-keys',
    'forgets-fences',
    'unordered',
    'renumbers-early',
    'retries-claims',
    'hides-elections',
    'no-deadline',
  ],
  states: [
    'fence',
    'later-term',
    'duplicate-not-durable',
    'prefix',
    'read-confirmed',
    'read-refused',
    'read-unconfirmed',
    'deposed-read',
    'former-primary',
    'documented-gap',
    'replay',
    'unavailable-stored',
    'unavailable-not-stored',
  ],
  rareSeeds: [586],
  begin(simulation, flaw) {
    const set = new ReplicaSet(simulation, flaw);
    const clients = numbers(simulation.random.pick([1, 2, 3, 3])).map(() => new MongoClientModel(set));
    const callers = callersOf(simulation, set, clients, flaw);
    set.startElections();
    void callers.start();
    const operators = numbers(simulation.random.pick([0, 0, 1, 2])).map(() => new MongoClientModel(set));
    for (const { db } of operators) void callers.import(new MongoPetArchive(db, new ConfirmedReads(db)));
    return () => {
      callers.verify();
      const { unavailable } = callers;
      const mustWork = simulation.isMild && areFewLost(clients, 1) && areFewLost(operators, 0);
      simulation.check(
        !mustWork || unavailable.length === 0,
        () => `a retry was possible: ${unavailable.join(', ')}`,
      );
    };
  },
};

/** Callers of one service for each client. */
function callersOf(
  simulation: Simulation,
  set: ReplicaSet,
  clients: readonly MongoClientModel[],
  flaw: string | undefined,
): PetCallers {
  const timeoutMs = flaw === 'no-deadline' ? 100 * LIMIT_MS : LIMIT_MS;
  return new PetCallers(simulation, {
    repositories: clients.map(({ db }) => new MongoPetRepository(db, new ConfirmedReads(db), { timeoutMs })),
    limitMs: LIMIT_MS,
    isDurable: ({ id }) => set.isCommitted('pets', String(id)),
    mayListMiss: (process) => {
      const client = clients[process]!;
      const { elections, isFooled } = client;
      return () => isFooled || client.elections !== elections;
    },
    isOpen: () => true,
    stored: () => storedIn(set),
  });
}

/**
 * Whether the failures were such that retries could have hidden all of them from the callers: no election, and no lost
 * query of pets, because the adapter waits for those until the deadline. It gives up one lost call of any other kind,
 * unless it belongs to an operator.
 */
function areFewLost(clients: readonly MongoClientModel[], atMost: number): boolean {
  return clients.every(
    ({ elections, lostOnPets, lostElsewhere }) =>
      elections === 0 && lostOnPets === 0 && lostElsewhere <= atMost,
  );
}

function storedIn(set: ReplicaSet): readonly StoredPet[] {
  return set
    .committed()
    .filter(({ collection, document }) => collection === 'pets' && document?.['_id'] instanceof Long)
    .map(({ document }) => ({
      id: toBigInt(document!['_id'] as Long),
      ...aPet({
        name: String(document!['name']),
        categoryId: toBigInt(document!['categoryId'] as Long),
        status: document!['status'] as PetStatus,
      }),
      key: document!['idem']?.k as string | undefined,
    }));
}
