import type { Pet } from '../../domain/pet.ts';

/** A pet never changes, and neither does its wire form: pets that stay in memory are encoded once. */
const encoded = new WeakMap<Pet, string>();

/** The wire form of a pet. Written by hand, because `JSON.stringify` has no exact int64. */
export function petJson(pet: Pet): string {
  let json = encoded.get(pet);
  if (json === undefined) {
    const { id, name, categoryId, status } = pet;
    json = `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
    encoded.set(pet, json);
  }
  return json;
}

export function petsJson(pets: readonly Pet[]): string {
  return `[${pets.map(petJson).join(',')}]`;
}
