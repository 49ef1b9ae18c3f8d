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
  /** How many pets of the source the target has now: all that existed at the start, and possibly later ones. */
  readonly pets: number;
  /** How many of them the target already had. */
  readonly alreadyThere: number;
  /** How many other pets the target has in the same range of ids. They are unchanged. */
  readonly others: number;
};

/** What the target has before the copy, up to the greatest id of the source. */
type Standing = Pick<Copied, 'alreadyThere' | 'others'> & {
  /** The target has every pet of the source up to this id. A repetition need not write them. */
  readonly completeTo: WhilePetsNeverChange<bigint>;
  /** The number of those pets. */
  readonly complete: number;
};

/** Whether the target has a pet of the source from an earlier, interrupted copy, and not another one. */
const isCopied: WhilePetsNeverChange<typeof samePet> = samePet;

/** Copies the pets of a source into an archive under their own ids. Serves `copy` and `import`. */
export class CopyPets {
  readonly #source: PetSource;
  readonly #target: PetArchive;

  constructor(source: PetSource, target: PetArchive) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * Compares the pets that the target already has, then writes the others. Can be repeated after an interruption at any
   * point. Writes nothing when it finds a conflict or a damaged pet in the comparison.
   *
   * @throws {InvalidPet} when the ids of the source leave too few for new pets; nothing is written
   * @throws {PetIdTaken} when the target has a different pet under an id of the source
   * @throws {IdempotencyKeyTaken} when it has a different pet with the same idempotency key; found only while
   *   pets are written
   * @throws {CountsDiffer} when pets disappear during the copy, or unexpected ones appear in the target
   * @throws {DamagedPet} when the source or the target has a damaged pet
   * @throws {StorageUnavailable}
   */
  async execute(onProgress: OnProgress): Promise<Copied> {
    const survey = await this.#source.survey(onProgress);
    const problem = importedIdProblem(survey.lastId);
    if (problem !== undefined) throw new InvalidPet([problem]);
    const { alreadyThere, others, completeTo, complete } = await this.#compare(survey, onProgress);
    // Before the first write: from now on, a service on the target assigns none of these ids.
    await this.#target.reserve(survey.lastId);
    let count = complete;
    // Batches are written in order, so an interruption leaves no gap before the last pet.
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

  /** Walks through both sides in order of id, until the target has no more pets. */
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

/** The pets of batches one by one. */
async function* each(batches: AsyncIterable<readonly ArchivedPet[]>): AsyncGenerator<ArchivedPet, undefined> {
  for await (const batch of batches) yield* batch;
}
