import { importedIdProblem, InvalidPet } from '../../domain/pet.ts';
import { CountsDiffer, PetIdTaken } from './errors.ts';
import type { WhilePetsNeverChange } from '../ports/pets-never-change.ts';
import { ArchiveSource, BATCH_SIZE, checkSourceCount } from './archive-source.ts';
import {
  type ArchivedPet,
  BEFORE_EVERY_ID,
  type OnProgress,
  type PetArchive,
  type PetSource,
  samePet,
  type Survey,
} from '../ports/pet-archive.ts';

export type CopiedPets = {
  /** The pets of the source that the target has now: all pets that the survey counted, and possibly later pets. */
  readonly pets: number;
  /** The part of `pets` that the target had before the copy. */
  readonly alreadyThere: number;
  /** Pets that only the target has, up to the greatest id of the source. They stay unchanged. */
  readonly others: number;
};

/** What the target has before the copy, up to the greatest id of the source. */
type Comparison = Pick<CopiedPets, 'alreadyThere' | 'others'> & {
  /** The target has every pet of the source up to this id, so a repeated copy begins after this id. */
  readonly completeTo: WhilePetsNeverChange<bigint>;
  /** The number of pets up to `completeTo`. */
  readonly completeCount: number;
};

/** Whether the pet of the target comes from an earlier, interrupted copy. */
const isCopied: WhilePetsNeverChange<typeof samePet> = samePet;

/** Copies pets with their ids, for `copy` and `import`. */
export class CopyPets {
  readonly #source: PetSource;
  readonly #target: PetArchive;

  constructor(source: PetSource, target: PetArchive) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * Compares source and target, then writes the missing pets to the target. If the comparison fails, nothing is
   * written. A caller can repeat an interrupted copy.
   *
   * @throws {InvalidPet} when the source leaves too few ids for new pets; nothing is written
   * @throws {IdempotencyKeyTaken} during a write
   * @throws {PetIdTaken | CountsDiffer | DamagedPet | StorageUnavailable}
   */
  async execute(onProgress: OnProgress): Promise<CopiedPets> {
    const survey = await this.#source.survey(onProgress);
    const problem = importedIdProblem(survey.lastId);
    if (problem !== undefined) throw new InvalidPet([problem]);
    const { alreadyThere, others, completeTo, completeCount } = await this.#compare(survey, onProgress);
    // From now on, no new pet of the target is assigned an id of the source.
    await this.#target.reserve(survey.lastId);
    let count = completeCount;
    // Batches are in order of id, so an interrupted copy leaves no gap before its last pet.
    for await (const pets of this.#source.read(completeTo, survey)) {
      await this.#target.write(pets);
      count += pets.length;
      onProgress({ doing: 'writing', done: count, total: Math.max(count, survey.count) });
    }
    await checkSourceCount(this.#source, survey, count);
    const found = await this.#target.count(survey.greatestId);
    const expected = count + others;
    if (found !== expected) throw new CountsDiffer('target', { expected, found });
    return { pets: count, alreadyThere, others };
  }

  /** Reads source and target in order of id, until the target has no more pets. */
  async #compare(survey: Survey, onProgress: OnProgress): Promise<Comparison> {
    await using sourcePets = flat(this.#source.read(BEFORE_EVERY_ID, survey));
    const next = async () => (await sourcePets.next()).value;
    const comparison = { alreadyThere: 0, others: 0, completeTo: 0n, completeCount: 0 };
    let sourcePet = await next();
    let hasGap = false;
    const target = new ArchiveSource(this.#target).read(BEFORE_EVERY_ID, survey);
    for await (const targetPet of flat(target)) {
      for (; sourcePet !== undefined && sourcePet.id < targetPet.id; sourcePet = await next()) hasGap = true;
      if (sourcePet?.id !== targetPet.id) {
        comparison.others++;
        continue;
      }
      if (!isCopied(sourcePet, targetPet)) throw new PetIdTaken(targetPet.id);
      comparison.alreadyThere++;
      if (!hasGap) {
        comparison.completeCount++;
        comparison.completeTo = targetPet.id;
      }
      if (comparison.alreadyThere % BATCH_SIZE === 0) {
        onProgress({ doing: 'comparing', done: comparison.alreadyThere, total: survey.count });
      }
      sourcePet = await next();
    }
    return comparison;
  }
}

async function* flat(batches: AsyncIterable<readonly ArchivedPet[]>): AsyncGenerator<ArchivedPet, undefined> {
  for await (const batch of batches) yield* batch;
}
