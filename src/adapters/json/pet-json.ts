import type { Pet } from '../../domain/pet.ts';

declare global {
  interface JSON {
    // https://github.com/tc39/proposal-json-parse-with-source, in V8 but not yet in TypeScript's library.
    rawJSON(text: string): object;
  }
}

/** A pet as a value for `JSON.stringify`, which then writes every digit of an int64. */
export function petJson({ id, name, categoryId, status }: Pet): Record<keyof Pet, unknown> {
  return { id: exactNumber(id), name, categoryId: exactNumber(categoryId), status };
}

/** A number where that is exact, because V8 writes it much faster. */
function exactNumber(value: bigint): number | object {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value));
}
