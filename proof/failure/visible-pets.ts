import type { Call } from './history.ts';

/** A pet, and the first call that acknowledged or showed it. */
export type Pet = { readonly id: number; readonly content: string; readonly firstCall: Call };

/** What a read asks for: pets whose ids are greater than `after` and at most `upTo`. The read began at `beginMs`. */
type ReadRange = {
  readonly after: number;
  readonly upTo: number;
  readonly filter: string | undefined;
  readonly beginMs: number;
};

/**
 * Pets in the order of their ids. `shownMs` has a time for each index: the earliest time at which the pet of
 * this index, or a pet with a greater id, was shown.
 */
type SortedPets = { readonly pets: readonly Pet[]; readonly shownMs: readonly number[] };

/** Finds the pets that a read must show, without a search through all pets of the history. */
export class VisiblePets {
  readonly #byId: ReadonlyMap<number, Pet>;
  readonly #all: SortedPets;
  readonly #byStatus: ReadonlyMap<string, SortedPets>;

  constructor(pets: readonly Pet[]) {
    const sorted = pets.toSorted((a, b) => a.id - b.id);
    this.#byId = new Map(sorted.map((pet) => [pet.id, pet]));
    this.#all = addEarliestTimes(sorted);
    const groups = Map.groupBy(sorted, ({ content }) => /"status":"(\w+)"\}$/.exec(content)?.[1] ?? '');
    this.#byStatus = new Map([...groups].map(([status, group]) => [status, addEarliestTimes(group)]));
  }

  /** The pet with this id, if it was shown before the read began. */
  withId(id: number, beginMs: number): Pet | undefined {
    const pet = this.#byId.get(id);
    return pet !== undefined && pet.firstCall.endMs < beginMs ? pet : undefined;
  }

  /** The pets in the range that were shown before the read began, without the pets with `excludedIds`. */
  inRange({ after, upTo, filter, beginMs }: ReadRange, excludedIds: ReadonlySet<number>): readonly Pet[] {
    const { pets, shownMs } = filter === undefined ? this.#all : (this.#byStatus.get(filter) ?? NO_PETS);
    const found: Pet[] = [];
    for (let index = findFirstIndexAbove(pets, after); index < pets.length; index++) {
      const pet = pets[index]!;
      if (pet.id > upTo) break;
      // This pet, and all pets with greater ids, were shown only after the read began.
      if (shownMs[index]! >= beginMs) break;
      if (pet.firstCall.endMs < beginMs && !excludedIds.has(pet.id)) found.push(pet);
    }
    return found;
  }
}

const NO_PETS: SortedPets = { pets: [], shownMs: [] };

function addEarliestTimes(pets: readonly Pet[]): SortedPets {
  const shownMs: number[] = [];
  for (let index = pets.length - 1; index >= 0; index--) {
    shownMs[index] = Math.min(pets[index]!.firstCall.endMs, shownMs[index + 1] ?? Infinity);
  }
  return { pets, shownMs };
}

/** Returns the index of the first pet whose id is greater than `id`, by a binary search. */
function findFirstIndexAbove(pets: readonly Pet[], id: number): number {
  let [low, high] = [0, pets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pets[middle]!.id > id) high = middle;
    else low = middle + 1;
  }
  return low;
}
