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

export type Copied = {
  /** The pets of the source in the target: all pets of the survey, and possibly later pets. */
  readonly pets: number;
  /** The part of `pets` that the target had before the copy. */
  readonly alreadyThere: number;
  /** The other pets of the target in the same range of ids, which stay unchanged. */
  readonly others: number;
};

/** The target before the copy, up to the greatest id of the source. */
type Standing = Pick<Copied, 'alreadyThere' | 'others'> & {
  /** The target has every pet of the source up to this id, so a repeated copy begins after it. */
  readonly completeTo: WhilePetsNeverChange<bigint>;
  /** The number of those pets. */
  readonly complete: number;
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
   * Compares the pets of both sides, then writes the missing pets. Writes nothing after an error of the comparison. A
   * caller can repeat an interrupted copy.
   *
   * @throws {InvalidPet} when the source leaves too few ids for new pets; nothing is written
   * @throws {IdempotencyKeyTaken} found only by a write
   * @throws {PetIdTaken | CountsDiffer | DamagedPet | StorageUnavailable}
   */
  async execute(onProgress: OnProgress): Promise<Copied> {
    const survey = await this.#source.survey(onProgress);
    const problem = importedIdProblem(survey.lastId);
    if (problem !== undefined) throw new InvalidPet([problem]);
    const { alreadyThere, others, completeTo, complete } = await this.#compare(survey, onProgress);
    // From now on, a service on the target assigns no id of the source.
    await this.#target.reserve(survey.lastId);
    let count = complete;
    // One by one, so an interruption leaves no gap before the last pet.
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

  /** In order of id, until the target has no more pets. */
  async #compare(survey: Survey, onProgress: OnProgress): Promise<Standing> {
    await using sourcePets = each(this.#source.read(BEFORE_EVERY_ID, survey));
    const nextOfSource = async () => (await sourcePets.next()).value;
    const standing = { alreadyThere: 0, others: 0, completeTo: 0n, complete: 0 };
    let ours = await nextOfSource();
    let hasGap = false;
    const target = new ArchiveSource(this.#target).read(BEFORE_EVERY_ID, survey);
    for await (const theirs of each(target)) {
      for (; ours !== undefined && ours.id < theirs.id; ours = await nextOfSource()) hasGap = true;
      if (ours?.id !== theirs.id) {
        standing.others++;
        continue;
      }
      if (!isCopied(ours, theirs)) throw new PetIdTaken(theirs.id);
      standing.alreadyThere++;
      if (!hasGap) {
        standing.complete++;
        standing.completeTo = theirs.id;
      }
      if (standing.alreadyThere % BATCH_SIZE === 0) {
        onProgress({ doing: 'comparing', done: standing.alreadyThere, total: survey.count });
      }
      ours = await nextOfSource();
    }
    return standing;
  }
}

async function* each(batches: AsyncIterable<readonly ArchivedPet[]>): AsyncGenerator<ArchivedPet, undefined> {
  for await (const batch of batches) yield* batch;
}
