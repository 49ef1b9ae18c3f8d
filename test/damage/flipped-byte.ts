import { writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { openSqliteStorage, type SqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { DamagedApiKey, StorageSetupError } from '../../src/application/ports/storage-errors.ts';
import { type ArchivedPet, BEFORE_EVERY_ID } from '../../src/application/ports/pet-archive.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';
import { newPet, PET_STATUSES } from '../../src/domain/pet.ts';
import { aKey, at } from '../support/api-keys.ts';
import { archivedPets } from '../support/archived-pets.ts';

/** What the service makes of a file with a changed byte. */
export type Verdict = {
  readonly outcome: 'right' | 'error' | 'refused' | 'wrong';
  /** What was wrong, or the first error. */
  readonly why: string;
};

/** Errors that become a 5xx. */
const ERRORS = new Set<unknown>([
  'damaged-pet',
  'damaged-api-key',
  'storage-unavailable',
  'pet-ids-exhausted',
]);

export const PETS: readonly ArchivedPet[] = archivedPets(24);
const LAST_PET_ID = PETS.at(-1)!.id;
/** Reserved, as by a restore. No pet has it. */
const RESERVED_ID = 70_000n;
const KEYS: readonly ApiKey[] = [
  aKey(1, { scopes: ['pets:read', 'pets:write'], rateLimit: { requests: 600, seconds: 60 } }),
  aKey(2, { expiresAt: at(1_000_000), lastUsedAt: at(7) }),
  aKey(3, { revokedAt: at(5), originId: aKey(9).id }),
];

/** Makes a file with a page for every few rows, so that the trees have inner pages. */
export async function writeSmallFile(file: string): Promise<void> {
  {
    using db = new DatabaseSync(file);
    db.exec('PRAGMA page_size = 512; PRAGMA journal_mode = WAL');
  }
  const { archive, keys, close } = await openSqliteStorage(file);
  await archive.write(PETS);
  await archive.reserve(RESERVED_ID);
  for (const key of KEYS) await keys.insert(key);
  await close();
}

/** Changes a byte of a copy of the file, and asks a service on it for everything. */
export async function judgeFlip(sound: Buffer, file: string, offset: number, mask: number): Promise<Verdict> {
  const bytes = Buffer.from(sound);
  bytes[offset]! ^= mask;
  await writeFile(file, bytes);
  let storage: SqliteStorage;
  try {
    storage = await openSqliteStorage(file);
  } catch (error) {
    const isOneLine = error instanceof StorageSetupError && !error.message.includes('\n');
    return { outcome: isOneLine ? 'refused' : 'wrong', why: String(error) };
  }
  try {
    return await judge(storage);
  } finally {
    await storage.close();
  }
}

async function judge({ pets, archive, keys }: SqliteStorage): Promise<Verdict> {
  const answers = new Answers();
  for (let id = 1n; id <= LAST_PET_ID + 2n; id++) {
    await answers.compare(`pet ${id}`, pets.findById(id), petOf(id));
  }
  for (const status of [undefined, ...PET_STATUSES]) {
    const expected = PETS.filter((pet) => status === undefined || pet.status === status).map(withoutKey);
    await answers.compare(`list ${status}`, pets.list({ status, limit: 100 }), expected);
    await answers.compare(`page ${status}`, pets.list({ status, limit: 4 }), expected.slice(0, 4));
  }
  await answers.compare('archive', archive.read(BEFORE_EVERY_ID, 100), PETS);
  for (const { id, idempotency, ...pet } of PETS) {
    if (idempotency === undefined) continue;
    const expected = { pet: { id, ...pet }, replayed: true };
    await answers.compare(`replay ${id}`, pets.insertOnce(newPet(pet), idempotency), expected);
  }
  const listed = await answers.compare('keys', keys.list(), KEYS);
  const isReported = listed?.some((key) => key instanceof DamagedApiKey) ?? true;
  for (const key of KEYS) {
    const found = keys.findById(key.id);
    // A key whose id is damaged is unknown. The list reports it.
    await answers.compare(`key ${key.id}`, isReported ? found.then((k) => k ?? key) : found, key);
  }
  await answers.check('a new pet', pets.insert(newPet({ name: 'New', categoryId: 1n })), async (added) => {
    const again = await pets.findById(added.id);
    return added.id > RESERVED_ID && added.name === 'New' && isDeepStrictEqual(again, added);
  });
  return answers.verdict;
}

/** Collects the worst of many answers. */
class Answers {
  verdict: Verdict = { outcome: 'right', why: '' };

  compare<T>(what: string, answer: Promise<T>, expected: unknown): Promise<T | undefined> {
    const isExpected = async (given: T) =>
      isDeepStrictEqual(given, expected) ||
      (Array.isArray(given) && given.some((one) => one instanceof DamagedApiKey));
    return this.check(what, answer, isExpected);
  }

  async check<T>(
    what: string,
    answer: Promise<T>,
    isRight: (given: T) => Promise<boolean>,
  ): Promise<T | undefined> {
    try {
      const given = await answer;
      if (!(await isRight(given))) this.#add('wrong', `${what}: ${show(given)}`);
      return given;
    } catch (error) {
      const isKnown = error instanceof Error && 'kind' in error && ERRORS.has(error.kind);
      this.#add(isKnown ? 'error' : 'wrong', `${what}: ${String(error)}`);
      return undefined;
    }
  }

  #add(outcome: 'error' | 'wrong', why: string): void {
    if (this.verdict.outcome === 'right' || (outcome === 'wrong' && this.verdict.outcome === 'error')) {
      this.verdict = { outcome, why };
    }
  }
}

function petOf(id: bigint): unknown {
  const pet = PETS.find((one) => one.id === id);
  return pet && withoutKey(pet);
}

function withoutKey({ id, name, categoryId, status }: ArchivedPet): unknown {
  return { id, name, categoryId, status };
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}` : part))?.slice(
    0,
    300,
  );
}
