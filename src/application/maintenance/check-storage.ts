import { DamagedApiKey } from '../ports/storage-errors.ts';
import { BATCH_SIZE } from './archive-source.ts';
import { DamagedPet } from '../pets/errors.ts';
import {
  type ArchivedPet,
  BEFORE_EVERY_ID,
  type OnProgress,
  type ReadablePetArchive,
} from '../ports/pet-archive.ts';
import type { CheckableStorage } from '../ports/storage-kind.ts';
import type { Finding } from '../ports/storage-health.ts';
import { petIdsWarning } from '../../domain/pet.ts';

export type CheckedCounts = { pets: number; apiKeys: number };

export type Checkable = Omit<CheckableStorage, 'close'>;

/** Examines a storage that services may use. May miss records that services add meanwhile. Changes nothing. */
export class CheckStorage {
  readonly #storage: Checkable;

  constructor(storage: Checkable) {
    this.#storage = storage;
  }

  /**
   * Examines the structure, then the pets in order of id, then the API keys. Keeps one batch of pets in memory.
   *
   * @param onProgress may throw to stop the check
   * @throws {StorageUnavailable}
   */
  async *execute(onProgress: OnProgress): AsyncGenerator<Finding, CheckedCounts> {
    yield* this.#storage.inspector.findings();
    const warning = petIdsWarning(await this.#storage.archive.lastId());
    if (warning !== undefined) yield { about: 'pet ids', problem: warning };
    const pets = yield* this.#checkPets(onProgress);
    const keys = await this.#storage.keys.list();
    for (const key of keys) {
      if (key instanceof DamagedApiKey) yield { about: `API key ${key.id}`, problem: key.problem };
    }
    return { pets, apiKeys: keys.length };
  }

  async *#checkPets(onProgress: OnProgress): AsyncGenerator<Finding, number> {
    const { archive } = this.#storage;
    const greatestId = await archive.greatestId();
    const total = await archive.count(greatestId);
    let done = 0;
    for (let after = BEFORE_EVERY_ID; after < greatestId; ) {
      const { pets, damaged } = await readBatch(archive, after);
      done += pets.length;
      const last = pets.at(-1)?.id ?? after;
      if (damaged !== undefined) {
        yield { about: `pet ${damaged.id}`, problem: damaged.problem };
        done++;
        // The pet is out of order, so each further read would begin with this pet.
        if (damaged.id <= last) break;
      } else if (pets.length === 0) break;
      after = damaged?.id ?? last;
      onProgress({ doing: 'checking', done, total: Math.max(done, total) });
    }
    if (done < total) yield { about: 'pets', problem: `${total} are counted, but only ${done} can be read` };
    return done;
  }
}

type Batch = { readonly pets: readonly ArchivedPet[]; readonly damaged?: DamagedPet };

async function readBatch(archive: ReadablePetArchive, after: bigint): Promise<Batch> {
  try {
    return { pets: await archive.read(after, BATCH_SIZE) };
  } catch (error) {
    if (error instanceof DamagedPet) return { pets: error.before, damaged: error };
    throw error;
  }
}
