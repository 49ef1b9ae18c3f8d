import type { Pet } from '../../domain/pet.ts';

/** How many pets are remembered with their wire form. A power of two. */
const REMEMBERED = 1024;

// Pets that stay in memory come again as the same objects, and never change. Each has one place, by its id. Not a
// WeakMap: for pets that come fresh from a database, the garbage collector would spend more on that than all else.
const pets: Pet[] = [];
const encoded: string[] = [];

/** The wire form of a pet. Written by hand, because `JSON.stringify` has no exact int64. */
export function petJson(pet: Pet): string {
  const place = Number(pet.id) & (REMEMBERED - 1);
  const known = encoded[place];
  if (known !== undefined && pets[place] === pet) return known;
  const { id, name, categoryId, status } = pet;
  const json = `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
  pets[place] = pet;
  encoded[place] = json;
  return json;
}

export function petsJson(page: readonly Pet[]): string {
  return `[${page.map(petJson).join(',')}]`;
}
