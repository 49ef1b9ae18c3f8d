import type { Db, Document, Filter, Long } from 'mongodb';
import { DamagedPet } from '../../application/pets/errors.ts';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type { PetQuery } from '../../application/ports/pet-repository.ts';
import { type Pet, PET_STATUSES } from '../../domain/pet.ts';
import { Batcher } from '../round-trips/batcher.ts';
import { SharedSearch } from '../round-trips/shared-search.ts';
import { decodePet, page, PET_FIELDS, petIdIn, petIds } from './pet-document.ts';
import { STATUS_INDEX } from './schema/collection-plans.ts';
import { concernsOf, type PetDocument, petsOf } from './schema/collections.ts';
import { toBigInt } from './schema/long.ts';

/** The most ids of pets without a status that are looked for. */
const MAX_IDS = 1_000;

type Found = ReadonlyMap<bigint | undefined, Uint8Array>;
type PageQuery = PetQuery & { readonly after: bigint };

/** Reads pets. Calls share round trips, see {@link Batcher}. It does not retry: it rejects with the driver's errors. */
export class PetReader {
  readonly #db: Db;
  /** As they were a second ago at most. */
  readonly #withoutStatus: SharedSearch<readonly bigint[]>;
  readonly #lookups = new Batcher((ids: readonly Long[]) => this.#findAll(ids));
  /** By query, while a call waits for it. */
  readonly #pages = new Map<string, Batcher<PageQuery, readonly Pet[]>>();

  constructor(db: Db) {
    this.#db = db;
    this.#withoutStatus = new SharedSearch(() => petsWithoutStatus(db));
  }

  /** @returns the pet as bytes for {@link decodePet} */
  async find(id: Long): Promise<Uint8Array | undefined> {
    const found = await this.#lookups.add(id);
    return found.get(toBigInt(id));
  }

  /**
   * Identical queries share a round trip and its result, which is frozen.
   *
   * @throws {DamagedPet}
   */
  async page(query: PageQuery): Promise<readonly Pet[]> {
    const key = `${query.status} ${query.after} ${query.limit}`;
    let batcher = this.#pages.get(key);
    if (batcher === undefined) {
      batcher = new Batcher(([first = query]) => this.#readPage(first));
      this.#pages.set(key, batcher);
    }
    try {
      return await batcher.add(query);
    } finally {
      if (batcher.isIdle) this.#pages.delete(key);
    }
  }

  async #findAll(ids: readonly Long[]): Promise<Found> {
    const [first] = ids;
    // The server takes longer to find one id in a list of one.
    const filter = { _id: first !== undefined && ids.length === 1 ? first : { $in: [...ids] } };
    const found = await this.#findBytes(filter, { batchSize: ids.length });
    return new Map(found.map((bytes) => [petIdIn(bytes), bytes]));
  }

  async #readPage({ status, after, limit }: PageQuery): Promise<readonly Pet[]> {
    const filter = { ...(status !== undefined && { status }), ...petIds({ after }) };
    // Without the hint, the planner may scan all pets by id if many of the first ones have the status.
    const hint = status !== undefined && { hint: STATUS_INDEX.name };
    const found = await this.#findBytes(filter, { ...page(limit), ...hint });
    const parse = () => Object.freeze(parseStoredPage(found, after, decodePet));
    if (status === undefined) return parse();
    const skippedId = (await this.#withoutStatus.result()).find((id) => id > after);
    return skippedId === undefined ? parse() : throwIfSkipped(skippedId, limit, parse);
  }

  /**
   * Sends the command, because a cursor of the driver costs much more.
   *
   * @returns the documents as bytes, to decode one by one
   */
  async #findBytes(filter: Filter<PetDocument>, options: Document): Promise<readonly Uint8Array[]> {
    const { readConcern } = concernsOf(this.#db);
    const find = { find: 'pets', filter, projection: PET_FIELDS, ...options, singleBatch: true, readConcern };
    const { cursor } = await this.#db.command(find, { fieldsAsRaw: { firstBatch: true } });
    return (cursor as { readonly firstBatch: readonly Uint8Array[] }).firstBatch;
  }
}

/**
 * A page of pets with a status, unless it is beyond a pet whose status is unknown.
 *
 * @throws {DamagedPet}
 */
function throwIfSkipped(skippedId: bigint, limit: number, parse: () => readonly Pet[]): readonly Pet[] {
  const [pets, error] = outcomeOf(parse);
  const end = error?.id ?? (pets.length < limit ? undefined : pets.at(-1)?.id);
  if (end === undefined || skippedId < end) {
    const before = pets.filter(({ id }) => id < skippedId);
    throw new DamagedPet(skippedId, `status must be one of ${PET_STATUSES.join(', ')}`, before);
  }
  if (error !== undefined) throw error;
  return pets;
}

function outcomeOf(parse: () => readonly Pet[]): readonly [pets: readonly Pet[], error?: DamagedPet] {
  try {
    return [parse()];
  } catch (error) {
    if (error instanceof DamagedPet) return [error.before, error];
    throw error;
  }
}

/**
 * Finds the pets that no list with a status has, because their status is missing or none of those that exist. Only
 * damage makes such a pet. The search takes four steps in the index. It does not retry: it rejects with the driver's
 * errors.
 *
 * @returns their ids in ascending order
 */
async function petsWithoutStatus(db: Db): Promise<readonly bigint[]> {
  const filter = { ...petIds({}), status: { $nin: [...PET_STATUSES] } };
  const options = {
    projection: { _id: 1 },
    hint: STATUS_INDEX.name,
    sort: { _id: 1 },
    limit: MAX_IDS,
  } as const;
  const found = await petsOf(db).find(filter, options).toArray();
  return found.map(({ _id }) => toBigInt(_id));
}
