import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonErrorPosition } from '../../../src/adapters/json/json-error-position.ts';
import { parseJson, petJson } from '../../../src/adapters/json/exact-json.ts';
import { aNewPet, int64 } from '../../../proof/properties/arbitraries.ts';
import { holds } from '../../../proof/properties/holds.ts';
import { exactValue, numberText, space, spelledValue } from '../../../proof/properties/json-arbitraries.ts';

it('parseJson returns every number that is an int64 as a bigint, and every other number as the nearest double', async () => {
  await holds(
    fc.property(numberText, (source) => {
      expect(parseJson(source)).toBe(exactValue(source));
    }),
    1_500,
  );
});

it('parseJson returns the same value for every spelling of it in JSON', async () => {
  await holds(
    fc.property(fc.tuple(space, spelledValue, space), ([before, { json, value }, after]) => {
      expect(exactText(parseJson(before + json + after))).toBe(exactText(value));
    }),
    800,
  );
});

it('parseJson refuses the same texts as JSON.parse, and jsonErrorPosition returns a position in them', async () => {
  const damaged = fc
    .tuple(spelledValue, fc.nat(), fc.constantFrom('', ...'{}[]",:\\-+.e0tn \u0000\u00e9'.split('')))
    .map(([{ json }, n, inserted]) => {
      const at = n % (json.length + 1);
      return json.slice(0, at) + inserted + json.slice(at + (inserted === '' ? 1 : n % 2));
    });
  await holds(
    fc.property(damaged, (json) => {
      const refusal = errorOf(() => JSON.parse(json));
      expect(errorOf(() => parseJson(json))?.message).toBe(refusal?.message);
      if (refusal === undefined) return;
      const { line, column } = jsonErrorPosition(json, refusal);
      const lines = json.split('\n');
      expect(line >= 1 && line <= lines.length).toBe(true);
      expect(column >= 1 && column <= lines[line - 1]!.length + 1).toBe(true);
    }),
    800,
  );
});

it('parseJson returns the pet whose JSON petJson made', async () => {
  await holds(
    fc.property(aNewPet, int64, (draft, id) => {
      const pet = { ...draft, id };
      expect(parseJson(JSON.stringify(petJson(pet)))).toStrictEqual(pet);
    }),
    300,
  );
});

/** Returns a different text for each value. `toStrictEqual` cannot compare objects with a field `constructor`. */
function exactText(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' || typeof part === 'number'
      ? `${typeof part} ${Object.is(part, -0) ? '-0' : part}`
      : typeof part === 'string'
        ? `string ${part}`
        : part,
  );
}

function errorOf(parse: () => unknown): SyntaxError | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}
