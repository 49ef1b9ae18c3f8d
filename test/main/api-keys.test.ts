import { createHash } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { InMemoryTokenVerifier } from '../../src/adapters/memory/token-verifier.ts';
import { startKeys } from '../../src/main/api-keys.ts';
import { readConfig } from '../../src/main/config.ts';

const KEY = '0123456789abcdef';

function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

describe('the keys of API_KEYS', () => {
  const keys = startKeys(readConfig({ API_KEYS: `ci=${KEY},${KEY}2` }));

  it('are kept as SHA-256 digests, and no key is made beside them', () => {
    expect(keys).toStrictEqual({
      known: [
        { id: 'ci', label: 'ci', scopes: ['pets:read', 'pets:write'], digest: digest(KEY) },
        { id: 'key-2', label: 'key-2', scopes: ['pets:read', 'pets:write'], digest: digest(`${KEY}2`) },
      ],
    });
  });

  it('are nowhere to be found afterwards', () => {
    expect(inspect(keys, { depth: 10, showHidden: true })).not.toContain(KEY);
  });

  it('open the door, and nothing else does', async () => {
    const verifier = new InMemoryTokenVerifier(keys.known);
    const tokens = [KEY, `${KEY}2`, `${KEY}3`, '', `ci=${KEY}`, digest(KEY).toString('hex')];
    expect(await Promise.all(tokens.map((token) => verifier.verify(token)))).toMatchObject([
      { label: 'ci' },
      { label: 'key-2' },
      ...tokens.slice(2).map(() => undefined),
    ]);
  });
});

describe('without API_KEYS', () => {
  it.each(['127.0.0.1', '127.255.0.9', 'localhost', '::1', ''])(
    'a key is made where only this machine can reach the service: HOST=%s',
    (HOST) => {
      const { known, made = '' } = startKeys(readConfig({ HOST }));
      // 24 random bytes, in characters that need no quoting anywhere.
      expect(made).toMatch(/^[\w-]{32}$/);
      expect(known).toMatchObject([{ label: 'start', digest: digest(made) }]);
    },
  );

  it('a new key is made at each start', () => {
    const made = Array.from({ length: 100 }, () => startKeys(readConfig({})).made);
    expect(new Set(made).size).toBe(100);
  });

  it.each([
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '128.0.0.1',
    '127.0.0.1.example',
    '127.1',
    'localhost.example',
    'petstore',
    '::ffff:10.0.0.1',
    '2001:db8::1',
  ])('the start is refused, with the reason, where others may reach it: HOST=%s', (HOST) => {
    expect(() => readConfig({ HOST })).toThrow(
      'API_KEYS must be set when HOST is not a loopback address, because others can reach the service then',
    );
    expect(readConfig({ HOST, API_KEYS: KEY }).HOST).toBe(HOST);
  });

  it('what is wrong elsewhere is told together with it', () => {
    expect(() => readConfig({ HOST: '::', PORT: 'x' })).toThrow(
      /^PORT must be .*\nAPI_KEYS must be set when .*$/,
    );
  });
});
