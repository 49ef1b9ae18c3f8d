import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RequestRefused } from '../../../../src/adapters/http/contract/errors.ts';
import { idempotencyKey } from '../../../../src/adapters/http/contract/idempotency.ts';
import { text } from '../../../../proof/properties/arbitraries.ts';
import { holds } from '../../../../proof/properties/holds.ts';

/** The key that the header means, or `undefined` when it is refused. RFC 9651, section 3.3.3, read step by step. */
function meaning(header: string): string | undefined {
  const isVisible = (character: string) => character > ' ' && character < '\u007f';
  const fits = (key: string) => (key.length >= 1 && key.length <= 255 ? key : undefined);
  if (!header.startsWith('"'))
    return Array.from(header).every((c) => isVisible(c) && c !== '"') ? fits(header) : undefined;
  let key = '';
  for (let at = 1; at < header.length; at++) {
    let character = header[at]!;
    if (character === '"') return at === header.length - 1 ? fits(key) : undefined;
    if (character === '\\') {
      character = header[++at] ?? '';
      if (character !== '"' && character !== '\\') return undefined;
    } else if (character !== ' ' && !isVisible(character)) return undefined;
    key += character;
  }
  return undefined;
}

const quoted = (key: string) => `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
const character = fc.constantFrom(...'ab" \\~!'.split(''), '\u007f', 'é', '\t');
const header = fc.oneof(
  text,
  fc.string({ unit: character, maxLength: 6 }),
  fc.string({ unit: character, maxLength: 6 }).map((inner) => `"${inner}"`),
  fc.string({ maxLength: 8 }).map(quoted),
  fc.string({ unit: fc.constantFrom('a', '"', '\\'), minLength: 254, maxLength: 256 }).map(quoted),
  fc.string({ unit: fc.constant('a'), minLength: 254, maxLength: 256 }),
);

function keyOf(value: string, caller = 'me'): string | undefined {
  try {
    return idempotencyKey(value, caller, 'POST /v1/pets');
  } catch (error) {
    if (error instanceof RequestRefused && error.code === 'INVALID_IDEMPOTENCY_KEY') return undefined;
    throw error;
  }
}

it('two headers are the same idempotency key if and only if they have the same meaning', async () => {
  await holds(
    fc.property(header, header, (one, other) => {
      expect([one, other].map((value) => keyOf(value) === undefined)).toStrictEqual(
        [one, other].map((value) => meaning(value) === undefined),
      );
      const means = meaning(one);
      if (means === undefined) return;
      expect(keyOf(one)).toBe(keyOf(quoted(means)));
      expect(keyOf(one) === keyOf(other)).toBe(means === meaning(other));
    }),
    800,
  );
});

it('the same header is a different idempotency key for each caller', async () => {
  await holds(
    fc.property(header, text, text, (value, me, you) => {
      expect(keyOf(value, me) === keyOf(value, you)).toBe(me === you || meaning(value) === undefined);
    }),
    200,
  );
});
