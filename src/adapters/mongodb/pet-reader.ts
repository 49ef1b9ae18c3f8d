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

const PET_PROJECTION = { projection: PET_FIELDS } as const;

/**
 * Matches pets with a damaged status, which a page of one status would lack. The server seeks four times in the index.
 */
const WITH_DAMAGED_STATUS = { ...petIds({}), status: { $nin: [...PET_STATUSES] } };

const MAX_DAMAGED_STATUS = 1_000;

type PetsById = ReadonlyMap<bigint | undefined, Uint8Array>;
type PageQuery = PetQuery & { readonly after: bigint };

/** Calls share round trips. Does not retry: rejects with the errors of the driver. */
export class PetReader {
  readonly #db: Db;
  readonly #findDamagedStatus: () => Promise<readonly Uint8Array[]>;
  readonly #lookups = new Batcher((ids: readonly Long[]) => this.#findAll(ids));
  /** One entry per query for which a call waits. */
  readonly #batchers = new Map<string, Batcher<PageQuery, readonly Pet[]>>();

  constructor(db: Db) {
    this.#db = db;
    const options = { hint: STATUS_INDEX.name, ...page(MAX_DAMAGED_STATUS), ...PET_PROJECTION };
    this.#findDamagedStatus = oncePerSecond(() => this.#findBytes(WITH_DAMAGED_STATUS, options));
  }

  /** @throws {DamagedPet} */
  async find(id: bigint): Promise<Pet | undefined> {
    const petsById = await this.#lookups.add(toLong(id));
    const bytes = petsById.get(id);
    return bytes && decodePet(bytes);
  }

  /**
   * Calls with equal queries share one frozen result.
   *
   * @throws {DamagedPet}
   */
  async page(query: PageQuery): Promise<readonly Pet[]> {
    const key = `${query.status} ${query.after} ${query.limit}`;
    const batcher = this.#batchers.getOrInsertComputed(key, () => new Batcher(() => this.#readPage(query)));
    try {
      return await batcher.add(query);
    } finally {
      if (batcher.isIdle) this.#batchers.delete(key);
    }
  }

  async #findAll(ids: readonly Long[]): Promise<PetsById> {
    // For one id, the server is faster without a list and a projection.
    const isAlone = ids.length === 1;
    const filter = { _id: isAlone ? ids[0]! : { $in: [...ids] } };
    const pets = await this.#findBytes(filter, isAlone ? {} : { batchSize: ids.length, ...PET_PROJECTION });
    return new Map(pets.map((bytes) => [petIdIn(bytes), bytes]));
  }

  async #readPage(query: PageQuery): Promise<readonly Pet[]> {
    const { status, after, limit } = query;
    const filter = { ...(status !== undefined && { status }), ...petIds({ after }) };
    // Without the hint, the planner may scan all pets by id if many pets with small ids have the status.
    const hint = status !== undefined && { hint: STATUS_INDEX.name };
    const pets = await this.#findBytes(filter, { ...page(limit), ...hint, ...PET_PROJECTION });
    const damaged = status === undefined ? [] : await this.#findDamagedStatus();
    return Object.freeze(parseStoredPage(withDamaged(pets, damaged, query), after, decodePet));
  }

  /** @returns pets to decode one by one. A cursor of the driver costs much more CPU time than this command. */
  async #findBytes(filter: Filter<PetDocument>, options: Document): Promise<readonly Uint8Array[]> {
    const find = { find: 'pets', filter, ...options, singleBatch: true, readConcern: { level: 'majority' } };
    const { cursor } = await this.#db.command(find, { fieldsAsRaw: { firstBatch: true } });
    return (cursor as { readonly firstBatch: readonly Uint8Array[] }).firstBatch;
  }
}

const idOf = (pet: Uint8Array) => petIdIn(pet) ?? 0n;

/** Inserts the damaged pets into the page, in the order of ids. */
function withDamaged(pets: readonly Uint8Array[], all: readonly Uint8Array[], { after, limit }: PageQuery) {
  const damaged = all.filter((pet) => idOf(pet) > after);
  if (damaged.length === 0) return pets;
  return [...pets, ...damaged].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)).slice(0, limit);
}
