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

/** The deadline of every call to the adapter. */
const LIMIT_MS = 20_000;

/**
 * One to three processes insert and read pets. The scenario tests claims of ids (two processes may try to insert with
 * the same id), reserved ids, shared round trips, confirmed reads (the primary proves that it is not deposed),
 * deadlines and retries.
 */
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
    'answered-503-stored',
    'answered-503-not-stored',
  ],
  seedsOfRareStates: [586],
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
      const { unavailableCalls } = callers;
      const mustSucceed = simulation.isMild && couldRetriesHide(clients, 1) && couldRetriesHide(operators, 0);
      simulation.check(
        !mustSucceed || unavailableCalls.length === 0,
        () => `failed, although a retry could have succeeded: ${unavailableCalls.join(', ')}`,
      );
    };
  },
};

/** Callers with one repository per client. */
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
      const { electionCount, hasUnnoticedPrimary } = client;
      return () => hasUnnoticedPrimary || client.electionCount !== electionCount;
    },
    isOpen: () => true,
    stored: () => storedPets(set),
  });
}

/**
 * Whether retries of the adapter could have hidden all failures from the callers. That needs no election and no lost
 * query of pets, because the adapter waits for a lost query until the deadline. Retries also hide up to `atMost` other
 * lost commands: one for a service, none for an operator.
 */
function couldRetriesHide(clients: readonly MongoClientModel[], atMost: number): boolean {
  return clients.every(
    ({ electionCount, lostOnPets, lostElsewhere }) =>
      electionCount === 0 && lostOnPets === 0 && lostElsewhere <= atMost,
  );
}

function storedPets(set: ReplicaSet): readonly StoredPet[] {
  return set
    .committedEntries()
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
