import { expect, test } from 'vitest';
import { fingerprintsOf, idempotency } from '../../../../src/adapters/http/wire/idempotency.ts';
import { PET_STATUSES } from '../../../../src/domain/pet.ts';

const REX = { name: 'Rex', categoryId: 7n };

// The hashes of ["an-id","POST /v1/pets","a-key"] and ["Rex","7",null].
test('what is stored stays as it is: a key is remembered as long as its pet exists', () => {
  expect(idempotency('a-key', 'an-id', REX)).toStrictEqual({
    key: 'ad5aa89ade9660588fc57026e7b4e27f286d7a33a7b1e623514f6e32bb44a02a',
    fingerprint: '6817f08f96deaae0e1b3a6c8759c84e8ae412e8fc6cc070bebbdfcddb3fab57f',
  });
});

test.each(PET_STATUSES)(
  'a pet that is %s has the fingerprint of every request that adds it, and no other',
  (status) => {
    const requests = [REX, ...PET_STATUSES.map((given) => ({ ...REX, status: given }))];
    const adding = requests.filter((request) => ({ status: 'available', ...request }).status === status);
    const fingerprints = adding.map((request) => idempotency('a-key', 'an-id', request)?.fingerprint);
    expect(new Set(fingerprintsOf({ ...REX, status }))).toStrictEqual(new Set(fingerprints));
  },
);
