import { expect, it } from 'vitest';
import {
  type ApiKey,
  type ApiKeyDraft,
  apiKeyProblems,
  apiKeyState,
  endedKey,
  InvalidApiKey,
  newApiKey,
  type Scope,
  storedApiKey,
} from '../../src/domain/api-key.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const LATER = new Date('2026-11-20T12:00:00.001Z');
const INVALID = new Date(Number.NaN);

const draft: ApiKeyDraft = { label: 'the shop', scopes: ['pets:read'] };

const LABEL = 'must be 1 to 64 visible characters, with spaces only between them';
const SCOPE = 'must be one or more of pets:read, pets:write';
const EXPIRY = 'must be in the future';
const LIMIT = 'must be 1 to 1000000000 requests in 1 to 86400 seconds';

it('a new key has the defined fields of its draft, the time of its creation, and no other fields', () => {
  const withoutOptional = { ...draft, expiresAt: undefined, rateLimit: undefined, originId: undefined };
  expect(newApiKey(withoutOptional, NOW)).toStrictEqual({ ...draft, createdAt: NOW });
  const rateLimit = { requests: 600, seconds: 60 };
  const full = { ...draft, expiresAt: LATER, rateLimit, originId: 'a' };
  const others = { id: 'mine', digest: 'mine', revokedAt: NOW, lastUsedAt: NOW };
  const withOthers = { ...full, ...others, rateLimit: { ...rateLimit, burst: 9 } };
  expect(newApiKey(withOthers, NOW)).toStrictEqual({ ...full, createdAt: NOW });
});

it('a new key shares no object with its draft or the clock', () => {
  const now = new Date(NOW);
  const expiresAt = new Date(LATER);
  const scopes: Scope[] = ['pets:read'];
  const rateLimit = { requests: 1, seconds: 1 };
  const key = newApiKey({ ...draft, scopes, expiresAt, rateLimit }, now);
  now.setTime(0);
  expiresAt.setTime(0);
  scopes.push('pets:write');
  rateLimit.requests = 9;
  expect(key).toStrictEqual({
    ...draft,
    createdAt: NOW,
    expiresAt: LATER,
    rateLimit: { requests: 1, seconds: 1 },
  });
});

it.each<readonly [readonly Scope[], readonly Scope[]]>([
  [['pets:write', 'pets:write'], ['pets:write']],
  [
    ['pets:write', 'pets:read', 'pets:write', 'pets:read'],
    ['pets:read', 'pets:write'],
  ],
])('a new key has each scope once and in a fixed order: %j', (scopes, expected) => {
  expect(newApiKey({ ...draft, scopes }, NOW).scopes).toStrictEqual(expected);
});

it.each([
  ['one character', 'a'],
  ['the most code points', '🐈'.repeat(64)],
  ['inner spaces', 'a  b c'],
  ['punctuation and symbols', `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~€±`],
  ['every kind of number', '1²Ⅷ'],
  ['a combining mark', 'Rene\u0301'],
  ['Hebrew, Arabic, Thai, Chinese, Devanagari', 'כלב كلب สุนัข 狗 कुत्ता'],
])('a new key keeps its label verbatim: %s', (_, label) => {
  expect(newApiKey({ ...draft, label }, NOW).label).toBe(label);
});

it('a new key may expire at the last instant, and have the greatest rate limit', () => {
  const greatest = {
    expiresAt: new Date(8_640_000_000_000_000),
    rateLimit: { requests: 1_000_000_000, seconds: 86_400 },
  };
  expect(newApiKey({ ...draft, ...greatest }, NOW)).toMatchObject(greatest);
});

function expectRefused(fields: Partial<ApiKeyDraft>, problem: string): void {
  expect(() => newApiKey({ ...draft, ...fields }, NOW), JSON.stringify(fields)).toThrow(
    new InvalidApiKey([problem]),
  );
}

/** Returns three labels per character: the character alone, at the end, and between letters. */
const labelsOf = (characters: string) =>
  Array.from(characters).flatMap((one) => [one, `a${one}`, `a${one}b`]);

it.each([
  ['empty', ['']],
  ['with a space at an end', [' ', ' a', 'a ']],
  ['too long', ['a'.repeat(65), '🐈'.repeat(65), 'a'.repeat(1_000_000)]],
  ['with a control character', labelsOf('\0\t\n\r\u001b\u007f\u009b')],
  ['with a direction mark', labelsOf('\u202e\u2066\u200f')],
  ['with a character without width', labelsOf('\u200b\u200d\ufeff\u00ad\u{e0041}')],
  ['with a space other than the ASCII space', labelsOf('\u00a0\u3000\u2028\u2029')],
  ['with an invisible letter, mark or symbol', labelsOf('\u3164\uffa0\u034f\ufe0f\u2800')],
  ['with a code point that is no character', [...labelsOf('\ue000\uffff\u0378'), 'a\ud800b', 'a\udc00b']],
])('a draft is rejected for a label that is %s', (_, labels) => {
  for (const label of labels) expectRefused({ label }, `label ${LABEL}`);
});

it('a draft is rejected when it expires now, in the past, or at an invalid date', () => {
  for (const expiresAt of [NOW, new Date(0), INVALID]) expectRefused({ expiresAt }, `expiresAt ${EXPIRY}`);
});

it('a draft is rejected with all of its problems in one message', () => {
  const rateLimit = { requests: 0, seconds: 0 };
  expect(() => newApiKey({ label: '', scopes: [], expiresAt: NOW, rateLimit }, NOW)).toThrow(
    expect.objectContaining({
      kind: 'invalid-api-key',
      message: `label ${LABEL}; scopes ${SCOPE}; expiresAt ${EXPIRY}; rateLimit ${LIMIT}`,
    }),
  );
});

const DIGITS_16 = '0123456789abcdef';
const key = { ...newApiKey(draft, NOW), id: DIGITS_16, digest: DIGITS_16.repeat(4) };
const full = {
  ...key,
  expiresAt: LATER,
  rateLimit: { requests: 1, seconds: 1 },
  originId: DIGITS_16,
  revokedAt: NOW,
  lastUsedAt: NOW,
};

it('a stored key has the defined fields of a key, and no others', () => {
  expect(storedApiKey({ ...full, token: 'secret' } as typeof full)).toStrictEqual(full);
  // A parsed record has fields whose values are undefined, which the type does not allow.
  const unset = { expiresAt: undefined, rateLimit: undefined, revokedAt: undefined, lastUsedAt: undefined };
  expect(storedApiKey({ ...key, ...unset } as unknown as ApiKey)).toStrictEqual(key);
});

const INSTANT = 'must be an instant';

it('a stored record is valid with all fields of a key, and without the five optional ones', () => {
  expect(apiKeyProblems(key)).toStrictEqual([]);
  expect(apiKeyProblems(full)).toStrictEqual([]);
});

it.each([
  ['id', 'must be 16 lower-case hex digits', [`${DIGITS_16}0`, `0${DIGITS_16}`, DIGITS_16.toUpperCase(), 7]],
  ['digest', 'must be 64 lower-case hex digits', [`${key.digest}0`, `0${key.digest}`, DIGITS_16, 7]],
  ['label', LABEL, ['', 7]],
  ['scopes', SCOPE, [[], 'pets:read', ['pets:read', 'pets:admin'], ['PETS:READ'], [''], ['toString']]],
  ['createdAt', INSTANT, [undefined, INVALID, NOW.toISOString()]],
  ['expiresAt', INSTANT, [null, INVALID, NOW.getTime()]],
  ['revokedAt', INSTANT, [null, INVALID, NOW.getTime()]],
  ['lastUsedAt', INSTANT, [null, INVALID, NOW.getTime()]],
  ['originId', 'must be 16 lower-case hex digits', [null, `${DIGITS_16}0`]],
  [
    'rateLimit',
    LIMIT,
    [
      null,
      {},
      ...['1', 0, -1, 1.5, 1_000_000_001, Number.NaN, Infinity].map((requests) => ({ requests, seconds: 1 })),
      ...[0, 86_401].map((seconds) => ({ requests: 1, seconds })),
    ],
  ],
] as const)('a stored record is refused when its field %s is wrong', (field, rule, values) => {
  // An array with one valid value is refused, too. A regular expression alone would accept it, because it converts the
  // array to a string.
  for (const value of [...values, [key[field as keyof typeof key]]]) {
    expect(apiKeyProblems({ ...key, [field]: value }), JSON.stringify(value)).toStrictEqual([
      `${field} ${rule}`,
    ]);
  }
});

const before = new Date(NOW.getTime() - 1);

it.each([
  ['active', 'without an expiry', {}],
  ['active', 'before its expiry', { expiresAt: LATER }],
  ['expired', 'at its expiry', { expiresAt: NOW }],
  ['expired', 'when its expiry is an invalid date', { expiresAt: INVALID }],
  ['revoked', 'when it was revoked earlier', { revokedAt: before }],
  ['revoked', 'when it was revoked by a clock that is ahead', { revokedAt: LATER }],
  ['revoked', 'when it has also expired', { revokedAt: LATER, expiresAt: before }],
] as const)('the state of a key is %s %s', (state, _, ends) => {
  expect(apiKeyState(ends, NOW)).toBe(state);
});

it('endedKey sets a missing expiry or revocation, and changes an existing one only to an earlier time', () => {
  const later = endedKey(key, 'expiresAt', LATER);
  expect(later).toStrictEqual({ ...key, expiresAt: LATER });
  expect(endedKey(later, 'expiresAt', NOW)).toStrictEqual({ ...key, expiresAt: NOW });
  const again = new Date(LATER);
  expect(endedKey(later, 'expiresAt', again)).toBe(later);
  expect(endedKey(later, 'revokedAt', again)).toStrictEqual({ ...later, revokedAt: LATER });
});
