import { expect, it } from 'vitest';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { aKey, at } from '../../support/api-keys.ts';
import { expectDamaged } from '../../contracts/damaged-api-key.ts';
import { damage, newService } from '../../support/sqlite.ts';

const CHECKSUM = 'its fields must match its checksum';

it.each([
  ["digest = x'00'", 'digest must be 64 lower-case hex digits'],
  ['label = NULL', 'label must be 1 to 64 visible characters, with spaces only between them'],
  ["scopes = 'pets:admin'", 'scopes must be one or more of pets:read, pets:write'],
  ['created_at = NULL', 'createdAt must be an instant'],
  ["expires_at = 'soon'", 'expiresAt must be an instant'],
  ['expires_at = 8640000000000001', 'expiresAt must be an instant'],
  ['revoked_at = 1.5', 'revokedAt must be an instant'],
  ["origin_id = 'short'", 'originId must be 16 lower-case hex digits'],
  ['origin_id = id', CHECKSUM],
  ["last_used_at = x'00'", 'lastUsedAt must be an instant'],
  ['digest = zeroblob(32)', CHECKSUM],
  ['revoked_at = 7', CHECKSUM],
  ['checksum = 7', CHECKSUM],
  ['checksum = NULL', CHECKSUM],
  ['last_used_at = checksum, checksum = NULL', CHECKSUM],
  ['requests = 5', 'rateLimit must be 1 to 1000000000 requests in 1 to 86400 seconds'],
  ["requests = x'35', seconds = 5", 'rateLimit must be 1 to 1000000000 requests in 1 to 86400 seconds'],
])('a damaged API key in SQLite is rejected and not returned, after SET %s', async (change, problem) => {
  const { file, keys } = await newService();
  await keys.insert(aKey(1));
  await keys.insert(aKey(2));
  damage(file, `UPDATE api_keys SET ${change} WHERE id = '${aKey(1).id}'`);
  await expectDamaged(keys, problem);
});

it('a damaged API key in SQLite is listed even when its id is damaged, and the message does not repeat that id', async () => {
  const { file, keys } = await newService();
  await keys.insert(aKey(1));
  damage(file, "UPDATE api_keys SET id = 'secret'");

  expect(await keys.list()).toStrictEqual([
    new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
  ]);
  expect(await keys.findById(aKey(1).id)).toBeUndefined();
});

it('an API key in SQLite whose revocation was deleted is rejected, and cannot be revoked again', async () => {
  const { file, keys } = await newService();
  await keys.insert(aKey(1));
  await keys.revoke(aKey(1).id, at(5));

  damage(file, 'UPDATE api_keys SET revoked_at = NULL');

  await expect(keys.findById(aKey(1).id)).rejects.toMatchObject({ kind: 'damaged-api-key' });
  await expect(keys.revoke(aKey(1).id, at(5))).rejects.toMatchObject({ kind: 'damaged-api-key' });
  await keys.recordUse(new Map([[aKey(1).id, at(9)]]));
  await expect(keys.findById(aKey(1).id)).rejects.toMatchObject({ kind: 'damaged-api-key' });
});
