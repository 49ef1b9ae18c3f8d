import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonErrorPosition } from '../../../src/adapters/json/json-error-position.ts';
import { parseJson, petJson } from '../../../src/adapters/json/exact-json.ts';
import { aNewPet, int64 } from '../../../proof/properties/arbitraries.ts';
import { holds } from '../../../proof/properties/holds.ts';
import { exactValue, numberText, space, spelledValue } from '../../../proof/properties/json-arbitraries.ts';

it('gives every number that is an int64 as a bigint, and any other as the nearest double', async () => {
  await holds(
    fc.property(numberText, (source) => {
      expect(parseJson(source)).toBe(exactValue(source));
    }),
    1_500,
  );
});

it('gives the value that JSON text spells, however it is spelled', async () => {
  await holds(
    fc.property(fc.tuple(space, spelledValue, space), ([before, { json, value }, after]) => {
      expect(exactly(parseJson(before + json + after))).toBe(exactly(value));
    }),
    800,
  );
});

it('refuses the text that JSON.parse refuses, and names a place in it', async () => {
  const damaged = fc
    .tuple(spelledValue, fc.nat(), fc.constantFrom('', ...'{}[]",:\\-+.e0tn \u0000\u00e9'.split('')))
    .map(([{ json }, at, mark]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + mark + json.slice(place + (mark === '' ? 1 : at % 2));
    });
  await holds(
    fc.property(damaged, (json) => {
      const refusal = refusalOf(() => JSON.parse(json));
      expect(refusalOf(() => parseJson(json))?.message).toBe(refusal?.message);
      if (refusal === undefined) return;
      const { line, column } = jsonErrorPosition(json, refusal);
      const lines = json.split('\n');
      expect(line >= 1 && line <= lines.length).toBe(true);
      expect(column >= 1 && column <= lines[line - 1]!.length + 1).toBe(true);
    }),
    800,
  );
});

it('gives the pet back that petJson wrote', async () => {
  await holds(
    fc.property(aNewPet, int64, (draft, id) => {
      const pet = { ...draft, id };
      expect(parseJson(JSON.stringify(petJson(pet)))).toStrictEqual(pet);
    }),
    300,
  );
});

/** A text that differs for every value. `toStrictEqual` is misled by fields that are called constructor. */
function exactly(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'bigint' || typeof part === 'number'
      ? `${typeof part} ${Object.is(part, -0) ? '-0' : part}`
      : typeof part === 'string'
        ? `string ${part}`
        : part,
  );
}

function refusalOf(parse: () => unknown): SyntaxError | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}
