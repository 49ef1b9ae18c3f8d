import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/domain/api-key.ts';
import { type StartKeys, startKeys } from '../../../src/main/service/start-keys.ts';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';
import { StartError, readConfig } from '../../../src/main/config/config.ts';

const KEY = '0123456789abcdef';

const now = () => new Date('2026-12-24T12:00:00Z');

/** What to do, where the storage can keep a key. */
const RUN = 'run: bin/petstore keys create --label NAME';

const NO_KEYS = await keysWith();

const digest = (key: string) => hash('sha256', key, 'buffer');

/** A log that keeps its lines. */
function recording() {
  const lines: string[] = [];
  const at = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  return { lines, log: { info: at('info'), warn: at('warn') } };
}

async function withoutKeys(env: Record<string, string>, isLogged = false): Promise<StartKeys> {
  const fail = (message: string) => expect.fail(message);
  return startKeys(readConfig(env), NO_KEYS, { now, log: { info: fail, warn: fail }, isLogged });
}

it('the keys of API_KEYS are stored as SHA-256 digests, and no other key is made', async () => {
  expect(await withoutKeys({ API_KEYS: `ci=${KEY},${KEY}2` })).toStrictEqual({
    known: [
      { caller: { id: 'ci', label: 'ci', scopes: SCOPES }, digest: digest(KEY) },
      { caller: { id: 'key-2', label: 'key-2', scopes: SCOPES }, digest: digest(`${KEY}2`) },
    ],
  });
});

describe('when there is no key', () => {
  it.each(['127.255.0.9', 'localhost', '::1', ''])(
    'a key is made if only this machine can reach the service: HOST=%s',
    async (HOST) => {
      const { known, made } = await withoutKeys({ HOST });
      const { id, token } = made!;
      expect(token).toMatch(new RegExp(`^pets_${id}_[0-9A-Za-z]{49}$`));
      expect(known).toStrictEqual([
        { caller: { id, label: 'start', scopes: SCOPES }, digest: digest(token) },
      ]);
    },
  );

  it.each([
    ['0.0.0.0', '', RUN],
    ['128.0.0.1', '', RUN],
    ['127.0.0.1.example', '', RUN],
    ['localhost.example', '', RUN],
    ['::', 'memory:', 'set API_KEYS'],
  ])('the start is refused if others can reach the service: HOST=%s', async (HOST, DATABASE_URL, hint) => {
    const problem =
      'there is no API key yet, and HOST is no loopback address, so others can reach the service';
    const refusal = new StartError([`${problem}; ${hint}`]);
    for (const isLogged of [false, true])
      await expect(withoutKeys({ HOST, DATABASE_URL }, isLogged)).rejects.toThrow(refusal);
    const { known } = await withoutKeys({ HOST, API_KEYS: KEY });
    expect(known).toMatchObject([{ caller: { label: 'key-1' } }]);
  });

  it.each([
    ['sqlite:./pets.db', RUN],
    ['memory:', 'set API_KEYS'],
  ])(
    'no key is made if a log would record it, and the log reports what to do: %s',
    async (DATABASE_URL, hint) => {
      const { lines, log } = recording();
      const keys = await startKeys(readConfig({ DATABASE_URL }), NO_KEYS, { now, log, isLogged: true });
      expect(keys).toStrictEqual({ known: [] });
      expect(lines).toStrictEqual([`warn: there is no API key yet; ${hint}`]);
    },
  );
});

describe('when the storage has a key in any state', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('no key is made, and the service needs none: HOST=%s', async (HOST) => {
    const { lines, log } = recording();

    const [config, revoked] = [readConfig({ HOST }), aKey(2, { revokedAt: now() })];

    for (const keys of [await keysWith(aKey(1), revoked), await keysWith(revoked)])
      expect(await startKeys(config, keys, { now, log })).toStrictEqual({ known: [] });

    expect(lines).toStrictEqual([
      'info: the API keys are in the storage, which knows only their digests; ' +
        'for another one run: bin/petstore keys create --label NAME',
      'warn: no API key is valid now; run: bin/petstore keys create --label NAME',
    ]);
  });

  it('the log names a damaged key, which is as invalid as an expired key and which a request may not find', async () => {
    const { lines, log } = recording();
    const damaged = new DamagedApiKey('0123456789abcdef', 'label must be there');
    const stored = { list: async () => [damaged, aKey(1, { expiresAt: now() })] };

    await startKeys(readConfig({}), stored, { now, log });

    expect(lines).toStrictEqual([
      'warn: a stored API key is damaged and never valid: 0123456789abcdef',
      'warn: no API key is valid now; run: bin/petstore keys create --label NAME',
    ]);
  });
});
