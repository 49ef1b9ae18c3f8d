import { describe, expect, it } from 'vitest';
import {
  type ApiKeyDraft,
  apiKeyState,
  InvalidApiKey,
  newApiKey,
  type RateLimit,
  SCOPES,
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

function refusalOf(invalid: ApiKeyDraft): InvalidApiKey {
  try {
    newApiKey(invalid, NOW);
  } catch (error) {
    if (error instanceof InvalidApiKey) return error;
    throw error;
  }
  throw new Error('the draft was accepted');
}

describe('a new key', () => {
  it('has the fields of its draft, and was created now', () => {
    expect(newApiKey(draft, NOW)).toStrictEqual({ ...draft, createdAt: NOW });
    const full = { ...draft, expiresAt: LATER, rateLimit: { requests: 600, seconds: 60 } };
    expect(newApiKey(full, NOW)).toStrictEqual({ ...full, createdAt: NOW });
  });

  it('has no field for what the draft leaves open', () => {
    const open = { ...draft, expiresAt: undefined, rateLimit: undefined };
    expect(newApiKey(open, NOW)).toStrictEqual({ ...draft, createdAt: NOW });
  });

  it('takes nothing else from the draft', () => {
    const rateLimit = { requests: 1, seconds: 1, burst: 9 };
    const more = { ...draft, rateLimit, id: 'mine', digest: 'mine', revokedAt: NOW, lastUsedAt: NOW };
    expect(newApiKey(more, NOW)).toStrictEqual({
      ...draft,
      createdAt: NOW,
      rateLimit: { requests: 1, seconds: 1 },
    });
  });

  it('shares nothing with its draft and the clock', () => {
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
    [['pets:read'], ['pets:read']],
    [['pets:write'], ['pets:write']],
    [
      ['pets:write', 'pets:read'],
      ['pets:read', 'pets:write'],
    ],
    [
      ['pets:write', 'pets:read', 'pets:write', 'pets:read'],
      ['pets:read', 'pets:write'],
    ],
    [['pets:write', 'pets:write'], ['pets:write']],
  ])('has each scope once and in order: %j', (scopes, expected) => {
    expect(newApiKey({ ...draft, scopes }, NOW).scopes).toStrictEqual(expected);
    expect(SCOPES).toStrictEqual(['pets:read', 'pets:write']);
  });

  it.each([
    ['one character', 'a'],
    ['one character outside the basic plane', '🐈'],
    ['as many as there may be, in code points', '🐈'.repeat(64)],
    ['inner spaces', 'a  b c'],
    ['punctuation and symbols', `!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~€±`],
    ['every kind of number', '1²Ⅷ'],
    ['a combining mark', 'Rene\u0301'],
    ['Hebrew, Arabic, Thai, Chinese, Devanagari', 'כלב كلب สุนัข 狗 कुत्ता'],
  ])('keeps its label verbatim: %s', (_, label) => {
    expect(newApiKey({ ...draft, label }, NOW).label).toBe(label);
  });

  it.each<RateLimit>([
    { requests: 1, seconds: 1 },
    { requests: 1_000_000_000, seconds: 86_400 },
  ])('may have the rate limit %j', (rateLimit) => {
    expect(newApiKey({ ...draft, rateLimit }, NOW).rateLimit).toStrictEqual(rateLimit);
  });

  it('may live until the end of time', () => {
    const expiresAt = new Date(8_640_000_000_000_000);
    expect(newApiKey({ ...draft, expiresAt }, NOW).expiresAt).toStrictEqual(expiresAt);
  });
});

describe('a draft that breaks the rules', () => {
  it.each([
    ['nothing', ''],
    ['a space', ' '],
    ['a space before', ' a'],
    ['a space after', 'a '],
    ['too many', 'a'.repeat(65)],
    ['too many code points', '🐈'.repeat(65)],
    ['far too many', 'a'.repeat(1_000_000)],
    ['NUL', 'a\0b'],
    ['a tab', 'a\tb'],
    ['a line feed', 'a\nb'],
    ['a line feed after', 'a\n'],
    ['a carriage return', 'a\rb'],
    ['an escape', 'a\u001b[31mb'],
    ['delete', 'a\u007fb'],
    ['a C1 control', 'a\u009bb'],
    ['a bidirectional override', 'a\u202eb'],
    ['a bidirectional isolate', 'a\u2066b'],
    ['a right-to-left mark', 'a\u200fb'],
    ['a zero-width space', 'a\u200bb'],
    ['a zero-width joiner', 'a\u200db'],
    ['a byte order mark', 'a\ufeffb'],
    ['a soft hyphen', 'a\u00adb'],
    ['a tag', 'a\u{e0041}b'],
    ['a no-break space', 'a\u00a0b'],
    ['a wide space', 'a\u3000b'],
    ['a line separator', 'a\u2028b'],
    ['a paragraph separator', 'a\u2029b'],
    ['a letter that is not to be seen', '\u3164'],
    ['another', 'a\uffa0b'],
    ['a mark that is not to be seen', 'a\u034fb'],
    ['a variation selector', 'a\ufe0fb'],
    ['a blank symbol', '\u2800'],
    ['a lone surrogate', 'a\ud800b'],
    ['the other lone surrogate', 'a\udc00b'],
    ['a private character', 'a\ue000b'],
    ['a noncharacter', 'a\uffffb'],
    ['an unassigned character', 'a\u0378b'],
  ])('is refused for its label: %s', (_, label) => {
    expect(refusalOf({ ...draft, label }).problems).toStrictEqual([
      { field: 'label', value: label, problem: LABEL },
    ]);
  });

  it.each([[[]], [['pets:admin']], [['pets:read', 'pets:admin']], [['PETS:READ']], [['']], [['toString']]])(
    'is refused for the scopes %j',
    (scopes) => {
      // The types of this project do not reach whoever calls it with a value from outside.
      expect(refusalOf({ ...draft, scopes: scopes as Scope[] }).problems).toStrictEqual([
        { field: 'scopes', value: scopes, problem: SCOPE },
      ]);
    },
  );

  it.each([
    ['now', NOW],
    ['a millisecond ago', new Date(NOW.getTime() - 1)],
    ['the beginning', new Date(0)],
    ['no instant', INVALID],
  ])('is refused when it expires at %s', (_, expiresAt) => {
    expect(refusalOf({ ...draft, expiresAt }).problems).toStrictEqual([
      { field: 'expiresAt', value: expiresAt, problem: EXPIRY },
    ]);
  });

  it.each<RateLimit>([
    { requests: 0, seconds: 60 },
    { requests: -1, seconds: 60 },
    { requests: 1.5, seconds: 60 },
    { requests: 1_000_000_001, seconds: 60 },
    { requests: Number.NaN, seconds: 60 },
    { requests: Number.POSITIVE_INFINITY, seconds: 60 },
    { requests: 60, seconds: 0 },
    { requests: 60, seconds: -1 },
    { requests: 60, seconds: 0.5 },
    { requests: 60, seconds: 86_401 },
    { requests: 60, seconds: Number.NaN },
  ])('is refused for the rate limit $requests/$seconds', (rateLimit) => {
    expect(refusalOf({ ...draft, rateLimit }).problems).toStrictEqual([
      { field: 'rateLimit', value: rateLimit, problem: LIMIT },
    ]);
  });

  it('is told of everything that is wrong at once', () => {
    const rateLimit = { requests: 0, seconds: 0 };
    const refusal = refusalOf({ label: '', scopes: [], expiresAt: NOW, rateLimit });

    expect(refusal.problems).toStrictEqual([
      { field: 'label', value: '', problem: LABEL },
      { field: 'scopes', value: [], problem: SCOPE },
      { field: 'expiresAt', value: NOW, problem: EXPIRY },
      { field: 'rateLimit', value: rateLimit, problem: LIMIT },
    ]);
    expect(refusal.message).toBe(`label ${LABEL}; scopes ${SCOPE}; expiresAt ${EXPIRY}; rateLimit ${LIMIT}`);
    expect([refusal.kind, refusal.name]).toStrictEqual(['invalid-api-key', 'InvalidApiKey']);
  });
});

describe('a stored key', () => {
  const key = { ...newApiKey(draft, NOW), id: '0123456789abcdef', digest: '0'.repeat(64) };

  it('has the fields of a key and no others, and none that is undefined', () => {
    const full = {
      ...key,
      expiresAt: LATER,
      rateLimit: { requests: 1, seconds: 1 },
      revokedAt: NOW,
      lastUsedAt: NOW,
    };
    expect(storedApiKey({ ...full, token: 'secret' } as typeof full)).toStrictEqual(full);
    expect(
      storedApiKey({
        ...key,
        expiresAt: undefined,
        rateLimit: undefined,
        revokedAt: undefined,
        lastUsedAt: undefined,
      }),
    ).toStrictEqual(key);
  });
});

describe('the state of a key', () => {
  const before = new Date(NOW.getTime() - 1);

  it.each([
    ['active', 'without an end', {}],
    ['active', 'before its end', { expiresAt: LATER }],
    ['expired', 'at its end', { expiresAt: NOW }],
    ['expired', 'after its end', { expiresAt: before }],
    ['expired', 'when its end is no instant', { expiresAt: INVALID }],
    ['revoked', 'when it was revoked', { revokedAt: before }],
    ['revoked', 'when it was revoked by a clock that is ahead', { revokedAt: LATER }],
    ['revoked', 'when it has expired as well', { revokedAt: LATER, expiresAt: before }],
    ['revoked', 'before its end', { revokedAt: before, expiresAt: LATER }],
  ] as const)('is %s %s', (state, _, key) => {
    expect(apiKeyState(key, NOW)).toBe(state);
  });
});
