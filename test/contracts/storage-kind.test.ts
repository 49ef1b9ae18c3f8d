import { expect, it } from 'vitest';
import { STORAGES } from '../../src/main/config/storages.ts';
import { storageKindContract } from './storage-kind.ts';
import { overStorages, testedStorages } from './storages.ts';

overStorages('StorageKind', storageKindContract);

it('the contract tests run with every storage that a URL can name', () => {
  const names = testedStorages().map(({ kind }) => kind.name);
  expect(names.toSorted()).toStrictEqual(STORAGES.map(({ name }) => name).toSorted());
});
