/** The pets in each place of a storage, as the JSON in which the service must show them. */
export type PetsByPlace = ReadonlyMap<string, readonly string[]>;

/** Writes the JSON of a pet independently of the service, which cannot be its own judge. */
export function storedPet(pet: {
  readonly id: unknown;
  readonly name: string;
  readonly categoryId: unknown;
  readonly status: string;
}): string {
  const { id, name, categoryId, status } = pet;
  return `{"id":${String(id)},"name":${JSON.stringify(name)},"categoryId":${String(categoryId)},"status":"${status}"}`;
}
