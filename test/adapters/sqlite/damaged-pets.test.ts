import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { BEFORE_EVERY_ID } from '../../../src/application/ports/pet-archive.ts';
import { INT64_MAX } from '../../../src/domain/pet.ts';
import { damagedPetsContract } from '../../contracts/damaged-pets.ts';
import { damage, newPath, newService, silentHost } from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';

const STATUS = 'status must be one of available, pending, sold';
const INT64 = 'categoryId must be an integer in the range of int64';
const CHECKSUM = 'its fields must match its checksum';
const KEY_CHECKSUM = 'its idempotency key and fingerprint must match their checksum';
const TEXT = 'name must be a string';
const CONTROL = 'name must not contain control characters (U+0000 to U+001F, U+007F)';

damagedPetsContract(
  'sqlite',
  open,
  [
    ['an unknown status', "status = 'sole'", STATUS],
    ['a name with a NUL', "name = 'R' || char(0) || 'x'", CONTROL],
    ['a name that is not UTF-8', "name = CAST(x'52ff78' AS TEXT)", CHECKSUM],
    ['a name of another type', "name = x'526578'", TEXT],
    ['a category that is a fraction', 'category_id = 7.5', INT64],
    ['another name', "name = 'Tom'", CHECKSUM],
    ['another category', 'category_id = -category_id', CHECKSUM],
    ['another checksum', 'checksum = checksum + 1', CHECKSUM],
    ['a checksum of another type', "checksum = 'x'", CHECKSUM],
    ['no checksum', 'checksum = NULL', CHECKSUM],
  ],
  [
    ['a short fingerprint', "fingerprint = x'00'", 'fingerprint must be 64 lower-case hex digits'],
    ['no fingerprint', 'fingerprint = NULL', 'fingerprint must be 64 lower-case hex digits'],
    ['no key', 'idempotency_key = NULL', 'idempotency key must be 64 lower-case hex digits'],
    ['another fingerprint', 'fingerprint = zeroblob(32)', KEY_CHECKSUM],
    ['another key', 'idempotency_key = zeroblob(32)', KEY_CHECKSUM],
    ['no checksum', 'idempotency_checksum = NULL', KEY_CHECKSUM],
    ['neither a key nor a fingerprint', 'idempotency_key = NULL, fingerprint = NULL', KEY_CHECKSUM],
    ['a key that is text', "idempotency_key = 'x'", 'idempotency key must be 64 lower-case hex digits'],
  ],
);

async function open() {
  const file = await newPath();
  const { pets, archive, close } = await openSqliteStorage(file, silentHost);
  return {
    pets,
    archive,
    damage: async (id: bigint, change: string) => damage(file, `UPDATE pets SET ${change} WHERE id = ${id}`),
    close,
  };
}

it('a list and an export in SQLite report a pet whose id was changed to 0', async () => {
  const { file, pets, archive } = await newService();
  await pets.insert(aPet());
  const tom = await pets.insert(aPet({ name: 'Tom' }));

  damage(file, 'UPDATE pets SET id = 0 WHERE id = 1');

  const damaged = {
    kind: 'damaged-pet',
    id: 0n,
    problem: 'id must be an integer from 1 to 9007199254740991',
  };
  await expect(pets.list({ limit: 10 })).rejects.toMatchObject(damaged);
  await expect(archive.read(BEFORE_EVERY_ID, 10)).rejects.toMatchObject(damaged);
  expect(await pets.list({ limit: 10, after: 0n })).toStrictEqual([tom]);
});

it('a read in SQLite reports a pet that is in an index but not in the table', async () => {
  const { file, pets } = await newService();
  await pets.insert(aPet());

  deleteOnlyRows(file);

  await expect(pets.findById(1n)).rejects.toMatchObject({
    kind: 'damaged-pet',
    id: 1n,
    problem: 'it must be in its table as it is in an index',
  });
  expect(await pets.findById(2n)).toBeUndefined();
});

/** Empties the table of pets without a change of its indexes. */
function deleteOnlyRows(file: string): void {
  using db = new DatabaseSync(file, { timeout: 1_000 });
  db.enableDefensive(false);
  db.exec(`CREATE TABLE empty (a);
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'empty') WHERE name = 'pets';
    PRAGMA writable_schema = RESET`);
}

it('an insert in SQLite is assigned neither a reserved id nor an existing one after damage to the counter of ids', async () => {
  const { file, pets, archive } = await newService();
  await archive.reserve(70n);

  damage(file, "UPDATE sqlite_sequence SET seq = 6 WHERE name = 'pets'");
  expect(await archive.lastId()).toBe(70n);
  expect(await pets.insert(aPet())).toMatchObject({ id: 71n });

  damage(file, 'DELETE FROM sqlite_sequence');
  expect(await archive.lastId()).toBe(71n);
  expect(await pets.insert(aPet())).toMatchObject({ id: 72n });

  damage(file, `UPDATE sqlite_sequence SET seq = ${INT64_MAX}`);
  await expect(pets.insert(aPet())).rejects.toThrow(PetIdsExhausted);
});
