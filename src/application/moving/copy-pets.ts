import { CountsDiffer, PetIdTaken } from './errors.ts';
import { ArchiveSource } from './archive-source.ts';
import { ahead, BATCH_SIZE, ItemReader } from './batches.ts';
import { checkSource } from './check-source.ts';
import type { PetArchive } from '../ports/pet-archive.ts';
import type { PetSource, Survey } from '../ports/pet-source.ts';
import type { OnProgress } from '../ports/progress.ts';
import { samePet } from './same-pet.ts';

export type Copied = {
  /** How many pets of the source are in the target now: all that there were at the start, and maybe later ones. */
  readonly count: number;
  /** How many of them were there before, from an earlier copy. */
  readonly before: number;
  /** How many other pets the target has between them. They are as they were. */
  readonly others: number;
};

/** What the target has already, up to the greatest id of the source. */
type Standing = Pick<Copied, 'before' | 'others'> & {
  /** The target has every pet of the source up to this id: */
  readonly completeTo: bigint;
  /** so many. */
  readonly complete: number;
};

/** Brings the pets of a source into an archive, ids kept: copies and imports. */
export class CopyPets {
  readonly #source: PetSource;
  readonly #target: PetArchive;

  constructor(source: PetSource, target: PetArchive) {
    this.#source = source;
    this.#target = target;
  }

  /**
   * May be repeated after an interruption at any point: what is there already is compared, pet by pet, and the rest
   * is written. When the source is not good, or the target has a pet that stands in the way, nothing is written.
   *
   * @throws {PetIdTaken} when the target has another pet under an id of the source
   * @throws {IdempotencyKeyTaken} when it has one with the same idempotency key: the one reason that is found late
   * @throws {CountsDiffer} when pets have gone from the source, or the target has not exactly what it should have
   */
  async execute(onProgress: OnProgress): Promise<Copied> {
    const survey = await this.#source.survey(onProgress);
    const { before, others, completeTo, complete } = await this.#compare(survey, onProgress);
    // Before the first pet is written, so that a service on the target gives none of the ids from now on.
    await this.#target.reserve(survey.lastId);
    let count = complete;
    // One batch after the other, so that an interruption leaves no gap before the last.
    for await (const pets of ahead(this.#source.read(completeTo, survey))) {
      await this.#target.write(pets);
      count += pets.length;
      onProgress({ doing: 'writing', done: count, total: Math.max(count, survey.count) });
    }
    await this.#verify(survey, count, others);
    return { count, before, others };
  }

  /** Walks through both sides for as long as the target has pets. */
  async #compare(survey: Survey, onProgress: OnProgress): Promise<Standing> {
    const theirs = new ItemReader(ahead(new ArchiveSource(this.#target).read(0n, survey)));
    const ours = new ItemReader(ahead(this.#source.read(0n, survey)));
    const standing = { before: 0, others: 0, completeTo: 0n, complete: 0 };
    try {
      let our = await ours.next();
      let gap = false;
      for (let their = await theirs.next(); their !== undefined; their = await theirs.next()) {
        for (; our !== undefined && our.id < their.id; our = await ours.next()) gap = true;
        if (our?.id !== their.id) {
          standing.others++;
          continue;
        }
        if (!samePet(our, their)) throw new PetIdTaken(their.id);
        standing.before++;
        if (!gap) {
          standing.complete++;
          standing.completeTo = their.id;
        }
        if (standing.before % BATCH_SIZE === 0) {
          onProgress({ doing: 'comparing', done: standing.before, total: survey.count });
        }
        our = await ours.next();
      }
    } finally {
      await ours.close();
      await theirs.close();
    }
    return standing;
  }

  async #verify(survey: Survey, count: number, others: number): Promise<void> {
    checkSource([survey.count, count, await this.#source.recount(survey)]);
    const found = await this.#target.count(survey.greatestId);
    const expected = count + others;
    if (found !== expected) throw new CountsDiffer('target', { expected, found });
  }
}
