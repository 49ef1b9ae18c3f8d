/** The JSON of the pets in each place of a storage: the file, or each member. The service must show the same JSON. */
export type PetsByPlace = ReadonlyMap<string, readonly string[]>;

/** Writes the JSON of a pet. Does not use the code of the service, because this code is what the suite tests. */
export function storedPet(pet: {
  readonly id: unknown;
  readonly name: string;
  readonly categoryId: unknown;
  readonly status: string;
}): string {
  const { id, name, categoryId, status } = pet;
  return `{"id":${String(id)},"name":${JSON.stringify(name)},"categoryId":${String(categoryId)},"status":"${status}"}`;
}
