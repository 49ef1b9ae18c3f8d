import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type NewPet, PET_NAME_PATTERN, petNameProblem, petTexts } from '../../src/domain/pet.ts';
import { aNewPet, text } from '../../proof/properties/arbitraries.ts';
import { holds } from '../../proof/properties/holds.ts';
import { isName } from '../../proof/properties/is-name.ts';

const blank = fc.constantFrom(...' \u00a0\u1680\u2003\u2028\u202f\u205f\u3000\ufeff\t\n'.split(''));
/** Characters that are not blank, but near to a rule: control characters, surrogates, and characters without width. */
const notBlank = fc.constantFrom(
  'a',
  '\u0080',
  '\u0085',
  '\u200b',
  '\u180e',
  '\u0000',
  '\u007f',
  '\ud83d',
  '\udc15',
  '\u{1f415}',
);

const name = fc.oneof(
  text,
  fc.string({ unit: fc.oneof(blank, notBlank), maxLength: 6 }),
  // Names near the greatest length, of characters with one and with two code units.
  fc.string({ unit: fc.constantFrom('a', '\u{1f415}'), minLength: 253, maxLength: 257 }),
  fc
    .tuple(fc.string({ unit: blank, minLength: 250, maxLength: 256 }), fc.constantFrom('', 'a'))
    .map((parts) => parts.join('')),
);

it('the rules for a name allow the names that the contract allows, and no others', async () => {
  await holds(
    fc.property(name, (value) => {
      expect(petNameProblem(value) === undefined).toBe(isName(value));
    }),
    1_500,
  );
});

it('the rules for a name agree with the published pattern about well-formed names of valid length', async () => {
  const patterns = [new RegExp(PET_NAME_PATTERN), new RegExp(PET_NAME_PATTERN, 'u')];
  await holds(
    fc.property(
      name.filter((value) => value.isWellFormed() && Array.from(value).length <= 255),
      (value) => {
        expect(patterns.map((pattern) => pattern.test(value))).toStrictEqual([isName(value), isName(value)]);
      },
    ),
    500,
  );
});

it('two pets have the same texts if and only if their fields are equal', async () => {
  await holds(
    fc.property(aNewPet, aNewPet, fc.nat(9), (one, pet, n) => {
      const [field = 'id', value = 1n] = Object.entries(pet)[n] ?? [];
      const other: NewPet = { ...one, [field]: value };
      const isSame = isDeepStrictEqual({ ...one, id: 1n }, { ...other, id: 1n });
      expect(JSON.stringify(petTexts(one)) === JSON.stringify(petTexts(other))).toBe(isSame);
    }),
    200,
  );
});
