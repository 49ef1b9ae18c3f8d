import { importedIdProblem, InvalidPet } from '../../domain/pet.ts';
import { throwIfDamaged } from '../keys/stored-keys.ts';
import type { ApiKeyRepository } from '../ports/api-key-repository.ts';
import { BEFORE_EVERY_ID, type OnProgress, type PetSource } from '../ports/pet-archive.ts';
import { prefetch } from './archive-source.ts';

/** Reads everything that a copy will read. A copy from a damaged storage then fails before its target is created. */
export class CheckSource {
  readonly #source: PetSource;
  readonly #keys: Pick<ApiKeyRepository, 'list'>;

  constructor(source: PetSource, keys: Pick<ApiKeyRepository, 'list'>) {
    this.#source = source;
    this.#keys = keys;
  }

  /**
   * @throws {InvalidPet} when the ids leave no room in the target
   * @throws {DamagedPet}
   * @throws {DamagedApiKey}
   * @throws {StorageUnavailable}
   */
  async execute(onProgress: OnProgress): Promise<void> {
    const keys = await this.#keys.list();
    keys.forEach(throwIfDamaged);
    const survey = await this.#source.survey(onProgress);
    const problem = importedIdProblem(survey.lastId);
    if (problem !== undefined) throw new InvalidPet([problem]);
    let done = 0;
    for await (const pets of prefetch(this.#source.read(BEFORE_EVERY_ID, survey))) {
      done += pets.length;
      onProgress({ doing: 'checking', done, total: Math.max(done, survey.count) });
    }
  }
}
