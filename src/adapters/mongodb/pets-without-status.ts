import type { Collection } from 'mongodb';
import { PET_STATUSES } from '../../domain/pet.ts';
import { petIds } from './pet-document.ts';
import { STATUS_INDEX } from './schema/collection-plans.ts';
import type { PetDocument } from './schema/collections.ts';
import { toBigInt } from './schema/long.ts';

/** The most ids that are returned. */
const MAX_IDS = 1_000;

/**
 * Finds the pets that no list with a status has, because their status is missing or none of those that exist. Only
 * damage makes such a pet. The search takes four steps in the index. It does not retry: it rejects with the driver's
 * errors.
 *
 * @returns their ids in ascending order
 */
export async function petsWithoutStatus(pets: Collection<PetDocument>): Promise<readonly bigint[]> {
  const filter = { ...petIds({}), status: { $nin: [...PET_STATUSES] } };
  const options = {
    projection: { _id: 1 },
    hint: STATUS_INDEX.name,
    sort: { _id: 1 },
    limit: MAX_IDS,
  } as const;
  const found = await pets.find(filter, options).toArray();
  return found.map(({ _id }) => toBigInt(_id));
}
