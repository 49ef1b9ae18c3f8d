import type { Create } from './history.ts';

/** A pet, and the JSON in which the service must show it. */
export type StoredPet = { readonly name: string; readonly json: string };

/** Writes the JSON of a pet independently of the service, which cannot be its own judge. */
export function storedPet(pet: {
  readonly id: unknown;
  readonly name: string;
  readonly categoryId: unknown;
  readonly status: string;
}): StoredPet {
  const { id, name, categoryId, status } = pet;
  return {
    name,
    json: `{"id":${String(id)},"name":${JSON.stringify(name)},"categoryId":${String(categoryId)},"status":"${status}"}`,
  };
}

/** The pets in each place that was searched. */
export type Places = ReadonlyMap<string, readonly StoredPet[]>;

/** The number of pets that break each promise, with examples. */
export type Verdict = {
  /** Acknowledged, but missing or different in at least one place. */
  readonly lost: number;
  /** Keys with more than one pet. */
  readonly duplicates: number;
  /** Ids acknowledged or stored for more than one key. */
  readonly idsTwice: number;
  /** Stored, although every attempt was refused or no client asked for them. */
  readonly unrequested: number;
  /** Of unknown outcome, and found. Neither right nor wrong. */
  readonly unknownFound: number;
  readonly examples: readonly string[];
};

/** Compares what the clients know with what is stored. */
export function verdict(creates: readonly Create[], places: Places): Verdict {
  const byName = new Map(creates.map((create) => [create.name, create]));
  const lost = new Set<string>();
  const duplicates = new Set<string>();
  const unrequested = new Set<string>();
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
        unrequested.add(name);
        examples.push(`in ${place}, although ${outcome ?? 'never requested'}: ${same[0]?.json}`);
      }
    }
  }
  const twice = [...namesOfId].filter(([, names]) => names.size > 1);
  for (const [id, names] of twice) examples.push(`the id ${id} was given to ${[...names].join(' and ')}`);
  return {
    lost: lost.size,
    duplicates: duplicates.size,
    idsTwice: twice.length,
    unrequested: unrequested.size,
    unknownFound: unknownFound.size,
    examples,
  };
}

/** The digits of the id. Tolerates an answer that is cut off. */
function idOf(json: string): string {
  return /^\{"id":(\d+),/.exec(json)?.[1] ?? json;
}
