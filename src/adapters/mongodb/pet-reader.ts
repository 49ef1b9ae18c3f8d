import type { Db, Document, Filter, Long } from 'mongodb';
import { parseStoredPage } from '../../application/pets/parse-stored-pet.ts';
import type { PetQuery } from '../../application/ports/pet-repository.ts';
import { type Pet, PET_STATUSES } from '../../domain/pet.ts';
import { Batcher } from './round-trips/batcher.ts';
import { oncePerSecond } from '../../application/ports/once-per-second.ts';
import { decodePet, page, PET_FIELDS, petIdIn, petIds } from './pet-document.ts';
import { STATUS_INDEX } from './schema/collection-plans.ts';
import { toLong } from './int64.ts';
import type { PetDocument } from './schema/collections.ts';

const PET = { projection: PET_FIELDS } as const;

/**
 * The pets that no list with a status has, because their status is missing or none of those that exist. Only damage
 * makes such a pet. The search takes four steps in the index.
 */
const WITHOUT_STATUS = { ...petIds({}), status: { $nin: [...PET_STATUSES] } };

/** The most of them that are looked for. */
const MAX_WITHOUT_STATUS = 1_000;

type Found = ReadonlyMap<bigint | undefined, Uint8Array>;
type PageQuery = PetQuery & { readonly after: bigint };

/** Reads pets. Calls share round trips, see {@link Batcher}. It does not retry: it rejects with the driver's errors. */
export class PetReader {
  readonly #db: Db;
  /** As they were a second ago at most. */
  readonly #withoutStatus: () => Promise<readonly Uint8Array[]>;
  readonly #lookups = new Batcher((ids: readonly Long[]) => this.#findAll(ids));
  /** By query, while a call waits for it. */
  readonly #pages = new Map<string, Batcher<PageQuery, readonly Pet[]>>();

  constructor(db: Db) {
    this.#db = db;
    const options = { hint: STATUS_INDEX.name, ...page(MAX_WITHOUT_STATUS), ...PET };
    this.#withoutStatus = oncePerSecond(() => this.#findBytes(WITHOUT_STATUS, options));
  }

  /** @throws {DamagedPet} */
  async find(id: bigint): Promise<Pet | undefined> {
    const found = await this.#lookups.add(toLong(id));
    const bytes = found.get(id);
    return bytes && decodePet(bytes);
  }

  /**
   * Identical queries share a round trip and its result, which is frozen.
   *
   * @throws {DamagedPet}
   */
  async page(query: PageQuery): Promise<readonly Pet[]> {
    const key = `${query.status} ${query.after} ${query.limit}`;
    const batcher = this.#pages.getOrInsertComputed(key, () => new Batcher(() => this.#readPage(query)));
    try {
      return await batcher.add(query);
    } finally {
      if (batcher.isIdle) this.#pages.delete(key);
    }
  }

  async #findAll(ids: readonly Long[]): Promise<Found> {
    // For one pet, the server takes longer with a list of one, and with a projection.
    const isAlone = ids.length === 1;
    const filter = { _id: isAlone ? ids[0]! : { $in: [...ids] } };
    const found = await this.#findBytes(filter, isAlone ? {} : { batchSize: ids.length, ...PET });
    return new Map(found.map((bytes) => [petIdIn(bytes), bytes]));
  }

  async #readPage(query: PageQuery): Promise<readonly Pet[]> {
    const { status, after, limit } = query;
    const filter = { ...(status !== undefined && { status }), ...petIds({ after }) };
    // Without the hint, the planner may scan all pets by id if many of the first ones have the status.
    const hint = status !== undefined && { hint: STATUS_INDEX.name };
    const found = await this.#findBytes(filter, { ...page(limit), ...hint, ...PET });
    const skipped = status === undefined ? [] : await this.#withoutStatus();
    return Object.freeze(parseStoredPage(withSkipped(found, skipped, query), after, decodePet));
  }

  /**
   * Sends the command, because a cursor of the driver costs much more.
   *
   * @returns the documents as bytes, to decode one by one
   */
  async #findBytes(filter: Filter<PetDocument>, options: Document): Promise<readonly Uint8Array[]> {
    const find = { find: 'pets', filter, ...options, singleBatch: true, readConcern: { level: 'majority' } };
    const { cursor } = await this.#db.command(find, { fieldsAsRaw: { firstBatch: true } });
    return (cursor as { readonly firstBatch: readonly Uint8Array[] }).firstBatch;
  }
}

const idOf = (pet: Uint8Array) => petIdIn(pet) ?? 0n;

/** The page in which the pets whose status is unknown have their places. */
function withSkipped(found: readonly Uint8Array[], all: readonly Uint8Array[], { after, limit }: PageQuery) {
  const skipped = all.filter((pet) => idOf(pet) > after);
  if (skipped.length === 0) return found;
  return [...found, ...skipped].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)).slice(0, limit);
}
