import type { Pet } from '../../domain/pet.ts';

/** The wire form of a pet. Written by hand, because `JSON.stringify` has no exact int64. */
export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

export function petsJson(pets: readonly Pet[]): string {
  return `[${pets.map(petJson).join(',')}]`;
}
