import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStorage, type SqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { DamagedApiKey, StorageSetupError } from '../../src/application/ports/storage-errors.ts';
import { type ArchivedPet, BEFORE_EVERY_ID } from '../../src/application/ports/pet-archive.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';
import { newPet, type Pet, PET_STATUSES, petWithId } from '../../src/domain/pet.ts';
import { aKey, at } from '../../test/support/api-keys.ts';
import { archivedPets } from '../../test/support/archived-pets.ts';
import { numbers } from '../../test/support/numbers.ts';
import { askAll, isEqualTo, type Question } from './ask-all.ts';
import { aPet } from '../../test/support/pets.ts';
import { storageHost } from '../../test/support/storage-host.ts';

/** How the service reacts to a SQLite file with a changed byte. */
export type Verdict = {
  /**
   * - `right`: All answers are right.
   * - `error`: Some answers are expected errors (a 5xx), and the others are right.
   * - `refused`: The service does not start with this file.
   * - `wrong`: An answer is wrong, or the start fails with anything but a `StorageSetupError` of one line.
   */
  readonly outcome: 'right' | 'error' | 'refused' | 'wrong';
  /** The first wrong answer or, without a wrong answer, the first error. It is empty when all answers are right. */
  readonly reason: string;
};

/** The pets of the file, as an export contains them. Some of them have an idempotency key. */
export const PETS: readonly ArchivedPet[] = archivedPets(24);
const LAST_PET_ID = PETS.at(-1)!.id;
/** The ids up to this id are reserved, as by the command `skip-ids`, so a new pet must have a greater id. */
const RESERVED_ID = 70_000n;
const KEYS: readonly ApiKey[] = [
  aKey(1, { scopes: ['pets:read', 'pets:write'], rateLimit: { requests: 600, seconds: 60 } }),
  aKey(2, { expiresAt: at(1_000_000), lastUsedAt: at(7) }),
  aKey(3, { revokedAt: at(5), originId: aKey(9).id }),
];

/** Writes a SQLite file. Its pages are so small that the B-trees have inner pages, which can then be damaged, too. */
export async function writeSmallFile(file: string): Promise<void> {
  {
    using db = new DatabaseSync(file);
    db.exec('PRAGMA page_size = 512; PRAGMA journal_mode = WAL');
  }
  const { archive, keys, close } = await openSqliteStorage(file, storageHost());
  await archive.write(PETS);
  await archive.reserve(RESERVED_ID);
  for (const key of KEYS) await keys.insert(key);
  await close();
}

/**
 * Changes one byte of a copy of the file, opens the copy, and asks the storage for everything that is in it.
 *
 * @param intact the content of the file without damage
 * @param file the path of the copy
 * @param index the position of the changed byte
 * @param mask each bit that is 1 changes the same bit of the byte
 */
export async function judgeFlip(intact: Buffer, file: string, index: number, mask: number): Promise<Verdict> {
  const bytes = Buffer.from(intact);
  bytes[index]! ^= mask;
  await writeFile(file, bytes);
  let storage: SqliteStorage;
  try {
    storage = await openSqliteStorage(file, storageHost());
  } catch (error) {
    // The service logs a StorageSetupError as one line, which tells the operator what is wrong.
    const isOneLine = error instanceof StorageSetupError && !error.message.includes('\n');
    return { outcome: isOneLine ? 'refused' : 'wrong', reason: String(error) };
  }
  try {
    return await askEverything(storage);
  } finally {
    await storage.close();
  }
}

async function askEverything({ pets, archive, keys }: SqliteStorage): Promise<Verdict> {
  const hasDamagedKey = (answer: unknown) =>
    Array.isArray(answer) && answer.some((key) => key instanceof DamagedApiKey);
  // A key with a damaged id is not found by its id. That is right if the list of keys reports a damaged key or fails.
  const isKeyDamageReported = await keys.list().then(hasDamagedKey, () => true);
  // With the type `Record`, the compiler reports a method of the port that has no questions.
  const questionsByMethod: Readonly<Record<keyof PetRepository, readonly Question[]>> = {
    findById: numbers(Number(LAST_PET_ID) + 3).map((number): Question => {
      const pet = PETS.find(({ id }) => id === BigInt(number));
      return [`pet ${number}`, () => pets.findById(BigInt(number)), isEqualTo(pet && toPet(pet))];
    }),
    list: [undefined, ...PET_STATUSES].flatMap((status): Question[] => {
      const expected = PETS.filter((pet) => status === undefined || pet.status === status).map(toPet);
      return [
        [`list ${status}`, () => pets.list({ status, limit: 100 }), isEqualTo(expected)],
        [`page ${status}`, () => pets.list({ status, limit: 4 }), isEqualTo(expected.slice(0, 4))],
      ];
    }),
    insertOnce: PETS.flatMap(({ idempotency, ...pet }): Question[] => {
      if (idempotency === undefined) return [];
      const replay = () => pets.insertOnce(newPet(pet), idempotency);
      return [[`replay ${pet.id}`, replay, isEqualTo({ pet, replayed: true })]];
    }),
    insert: [
      [
        'a new pet',
        () => pets.insert(aPet({ name: 'New', categoryId: 1n })),
        async (newlyAdded) => {
          const { id, name } = newlyAdded as Pet;
          return id > RESERVED_ID && name === 'New' && isEqualTo(newlyAdded)(await pets.findById(id));
        },
      ],
    ],
  };
  // The calls that may add a pet come last, because the expected lists do not contain the new pet.
  const { findById, list, ...writes } = questionsByMethod;
  const questions: Question[] = [
    ...findById,
    ...list,
    ['archive', () => archive.read(BEFORE_EVERY_ID, 100), isEqualTo(PETS)],
    ['keys', () => keys.list(), (answer) => isEqualTo(KEYS)(answer) || hasDamagedKey(answer)],
    ...KEYS.map((key): Question => {
      const find = async () => (await keys.findById(key.id)) ?? (isKeyDamageReported ? key : undefined);
      return [`key ${key.id}`, find, isEqualTo(key)];
    }),
    ...Object.values(writes).flat(),
  ];
  const { wrong, errors } = await askAll(questions);
  const outcome = wrong.length > 0 ? 'wrong' : errors.length > 0 ? 'error' : 'right';
  return { outcome, reason: wrong[0] ?? errors[0] ?? '' };
}

function toPet(pet: ArchivedPet): Pet {
  return petWithId(pet.id, pet);
}
