import { describe, expect, it } from 'vitest';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { parseStoredApiKey, throwIfDamaged } from '../../../src/application/keys/stored-keys.ts';
import { aKey } from '../../support/api-keys.ts';

describe('a stored API key', () => {
  it('is the key that the record holds, without other fields', () => {
    const record = { ...aKey(1), expiresAt: undefined, owner: 'me' };
    expect(parseStoredApiKey(record)).toStrictEqual(aKey(1));
  });

  it('is damaged when the record breaks a rule, and the error names the first one', () => {
    const damaged = parseStoredApiKey({ ...aKey(1), label: '', scopes: [] });
    expect(damaged).toStrictEqual(
      new DamagedApiKey(
        aKey(1).id,
        'label must be 1 to 64 visible characters, with spaces only between them',
      ),
    );
    expect(() => throwIfDamaged(damaged)).toThrow(damaged);
  });

  it.each(['a secret', `${aKey(1).id}0`, 7, undefined, [aKey(1).id]])(
    'leaves its id out of the error when that is damaged: %j',
    (id) => {
      expect(parseStoredApiKey({ ...aKey(1), id })).toStrictEqual(
        new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
      );
    },
  );
});
