import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/domain/api-key.ts';
import { type StartKeys, startKeys } from '../../../src/main/service/start-keys.ts';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';
import { StartError, readConfig } from '../../../src/main/config/config.ts';

const KEY = '0123456789abcdef';

const now = () => new Date('2026-12-24T12:00:00Z');

/** The advice when the storage is persistent, so that it can keep a key. */
const RUN_CREATE = 'run: bin/petstore keys create --label NAME';

const NO_KEYS = await keysWith();

const digest = (key: string) => hash('sha256', key, 'buffer');

/** Makes a log that collects its lines. */
function makeLog() {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  return { lines, log: { info: at('info'), warn: at('warn') } };
}

async function startWithoutStoredKeys(env: Record<string, string>, isLogged = false): Promise<StartKeys> {
  const fail = (message: string) => expect.fail(message);
  return startKeys(readConfig(env), NO_KEYS, { now, log: { info: fail, warn: fail }, isLogged });
}

it('the service knows the keys of API_KEYS by their SHA-256 digests, and makes no further key', async () => {
  expect(await startWithoutStoredKeys({ API_KEYS: `ci=${KEY},${KEY}2` })).toStrictEqual({
    knownKeys: [
      { caller: { id: 'ci', label: 'ci', scopes: SCOPES }, digest: digest(KEY) },
      { caller: { id: 'key-2', label: 'key-2', scopes: SCOPES }, digest: digest(`${KEY}2`) },
    ],
  });
});

describe('when there is no key', () => {
  it.each(['127.255.0.9', 'localhost', '::1', ''])(
    'a key is made if only this machine can reach the service: HOST=%s',
    async (HOST) => {
      const { knownKeys, madeKey } = await startWithoutStoredKeys({ HOST });
      const { id, token } = madeKey!;
      expect(token).toMatch(new RegExp(`^pets_${id}_[0-9A-Za-z]{49}$`));
      expect(knownKeys).toStrictEqual([
        { caller: { id, label: 'start', scopes: SCOPES }, digest: digest(token) },
      ]);
    },
  );

  it.each([
    ['0.0.0.0', '', RUN_CREATE],
    ['128.0.0.1', '', RUN_CREATE],
    ['127.0.0.1.example', '', RUN_CREATE],
    ['localhost.example', '', RUN_CREATE],
    ['::', 'memory:', 'set API_KEYS'],
  ])('the start is refused without a key and with HOST=%s', async (HOST, DATABASE_URL, hint) => {
    const problem =
      'there is no API key yet, and HOST is no loopback address, so others can reach the service';
    const refusal = new StartError([`${problem}; ${hint}`]);
    for (const isLogged of [false, true])
      await expect(startWithoutStoredKeys({ HOST, DATABASE_URL }, isLogged)).rejects.toThrow(refusal);
    const { knownKeys } = await startWithoutStoredKeys({ HOST, API_KEYS: KEY });
    expect(knownKeys).toMatchObject([{ caller: { label: 'key-1' } }]);
  });

  it.each([
    ['sqlite:./pets.db', RUN_CREATE],
    ['memory:', 'set API_KEYS'],
  ])(
    'no key is made if a log would record the key, and the log reports what to do: DATABASE_URL=%s',
    async (DATABASE_URL, hint) => {
      const { lines, log } = makeLog();
      const keys = await startKeys(readConfig({ DATABASE_URL }), NO_KEYS, { now, log, isLogged: true });
      expect(keys).toStrictEqual({ knownKeys: [] });
      expect(lines).toStrictEqual([`warn: there is no API key yet; ${hint}`]);
    },
  );
});

describe('when the storage has a key in any state', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('no key is made, and the start succeeds: HOST=%s', async (HOST) => {
    const { lines, log } = makeLog();

    const [config, revoked] = [readConfig({ HOST }), aKey(2, { revokedAt: now() })];

    for (const keys of [await keysWith(aKey(1), revoked), await keysWith(revoked)])
      expect(await startKeys(config, keys, { now, log })).toStrictEqual({ knownKeys: [] });

    expect(lines).toStrictEqual([
      'info: the API keys are in the storage, which knows only their digests; ' +
        'for another one run: bin/petstore keys create --label NAME',
      'warn: no API key is valid now; run: bin/petstore keys create --label NAME',
    ]);
  });

  it('the log names a damaged key, and reports that no key is valid if every other key has expired', async () => {
    const { lines, log } = makeLog();
    const damaged = new DamagedApiKey('0123456789abcdef', 'label must be there');
    const stored = { list: async () => [damaged, aKey(1, { expiresAt: now() })] };

    await startKeys(readConfig({}), stored, { now, log });

    expect(lines).toStrictEqual([
      'warn: a damaged API key is refused; run petstore check: 0123456789abcdef',
      'warn: no API key is valid now; run: bin/petstore keys create --label NAME',
    ]);
  });
});
