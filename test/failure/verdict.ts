import type { Create } from './history.ts';

export type StoredPet = { readonly name: string; readonly json: string };

/** Where pets were looked for, and what was there. */
export type Places = ReadonlyMap<string, readonly StoredPet[]>;

/** How many pets break each promise, and examples of them. */
export type Verdict = {
  /** Acknowledged, but in at least one place not there, or with another byte. */
  readonly lost: number;
  /** Keys with more than one pet. */
  readonly duplicates: number;
  /** Ids that were acknowledged, or are stored, for more than one key. */
  readonly idsTwice: number;
  /** Stored, though every attempt was refused, or though nobody has asked for them. */
  readonly uncalledFor: number;
  /** Unknown to the client, and found. Neither good nor bad. */
  readonly unknownFound: number;
  readonly examples: readonly string[];
};

/** What the clients know against what is stored. */
export function verdict(creates: readonly Create[], places: Places): Verdict {
  const byName = new Map(creates.map((create) => [create.name, create]));
  const lost = new Set<string>();
  const duplicates = new Set<string>();
  const uncalledFor = new Set<string>();
  const unknownFound = new Set<string>();
  const namesOfId = new Map<string, Set<string>>();
  const examples: string[] = [];
  const claim = (json: string, name: string) => {
    const id = idOf(json);
    namesOfId.set(id, (namesOfId.get(id) ?? new Set()).add(name));
  };

  for (const { outcome, answer = '', name } of creates) if (outcome === 'acknowledged') claim(answer, name);
  for (const [place, pets] of places) {
    const stored = Map.groupBy(pets, ({ name }) => name);
    for (const { name, outcome, answer } of creates) {
      if (outcome !== 'acknowledged') continue;
      if (stored.get(name)?.some(({ json }) => json === answer)) continue;
      lost.add(name);
      examples.push(
        `lost: ${answer} was acknowledged; ${place} has ${stored.get(name)?.[0]?.json ?? 'nothing'}`,
      );
    }
    for (const [name, same] of stored) {
      if (same.length > 1) {
        duplicates.add(name);
        examples.push(`twice in ${place}: ${same.map(({ json }) => json).join(' and ')}`);
      }
      for (const { json } of same) claim(json, name);
      const outcome = byName.get(name)?.outcome;
      if (outcome === 'unknown') unknownFound.add(name);
      if (outcome === undefined || outcome === 'refused') {
        uncalledFor.add(name);
        examples.push(`in ${place}, though ${outcome ?? 'never asked for'}: ${same[0]?.json}`);
      }
    }
  }
  const twice = [...namesOfId].filter(([, names]) => names.size > 1);
  for (const [id, names] of twice) examples.push(`the id ${id} was given to ${[...names].join(' and ')}`);
  return {
    lost: lost.size,
    duplicates: duplicates.size,
    idsTwice: twice.length,
    uncalledFor: uncalledFor.size,
    unknownFound: unknownFound.size,
    examples,
  };
}

/** The digits, whatever follows: an answer that is cut off is no reason to stop here. */
function idOf(json: string): string {
  return /^\{"id":(\d+),/.exec(json)?.[1] ?? json;
}
