import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RequestRefused } from '../../../../src/adapters/http/contract/errors.ts';
import { idempotencyKey } from '../../../../src/adapters/http/contract/idempotency.ts';
import { text } from '../../../../proof/properties/arbitraries.ts';
import { holds } from '../../../../proof/properties/holds.ts';

/**
 * Reads the key from the header with the steps of RFC 9651, section 3.3.3. Returns `undefined` if the service must
 * refuse the header.
 */
function expectedKey(header: string): string | undefined {
  const isVisible = (character: string) => character > ' ' && character < '\u007f';
  const keyIfValidLength = (key: string) => (key.length >= 1 && key.length <= 255 ? key : undefined);
  if (!header.startsWith('"'))
    return Array.from(header).every((c) => isVisible(c) && c !== '"') ? keyIfValidLength(header) : undefined;
  let key = '';
  for (let i = 1; i < header.length; i++) {
    let character = header[i]!;
    if (character === '"') return i === header.length - 1 ? keyIfValidLength(key) : undefined;
    if (character === '\\') {
      character = header[++i] ?? '';
      if (character !== '"' && character !== '\\') return undefined;
    } else if (character !== ' ' && !isVisible(character)) return undefined;
    key += character;
  }
  return undefined;
}

const quotedHeader = (key: string) => `"${key.replaceAll(/["\\]/g, '\\$&')}"`;
const character = fc.constantFrom(...'ab" \\~!'.split(''), '\u007f', 'é', '\t');
const header = fc.oneof(
  text,
  fc.string({ unit: character, maxLength: 6 }),
  fc.string({ unit: character, maxLength: 6 }).map((inner) => `"${inner}"`),
  fc.string({ maxLength: 8 }).map(quotedHeader),
  fc.string({ unit: fc.constantFrom('a', '"', '\\'), minLength: 254, maxLength: 256 }).map(quotedHeader),
  fc.string({ unit: fc.constant('a'), minLength: 254, maxLength: 256 }),
);

/** The key with its caller, as the service uses it. `undefined` if the service refuses the header. */
function fullKey(value: string, caller = 'me'): string | undefined {
  try {
    return idempotencyKey(value, caller, 'POST /v1/pets');
  } catch (error) {
    if (error instanceof RequestRefused && error.code === 'INVALID_IDEMPOTENCY_KEY') return undefined;
    throw error;
  }
}

it('two Idempotency-Key headers have the same key for the service if and only if they have the same key by RFC 9651', async () => {
  await holds(
    fc.property(header, header, (firstHeader, secondHeader) => {
      expect([firstHeader, secondHeader].map((value) => fullKey(value) === undefined)).toStrictEqual(
        [firstHeader, secondHeader].map((value) => expectedKey(value) === undefined),
      );
      const key = expectedKey(firstHeader);
      if (key === undefined) return;
      expect(fullKey(firstHeader)).toBe(fullKey(quotedHeader(key)));
      expect(fullKey(firstHeader) === fullKey(secondHeader)).toBe(key === expectedKey(secondHeader));
    }),
    800,
  );
});

it('two callers that send the same Idempotency-Key header have different keys', async () => {
  await holds(
    fc.property(header, text, text, (value, ann, tom) => {
      expect(fullKey(value, ann) === fullKey(value, tom)).toBe(ann === tom || !expectedKey(value));
    }),
    200,
  );
});
