import { BSON, type Db } from 'mongodb';
import { isDamaged } from '../../application/pets/parse-stored-pet.ts';
import type { StorageInspector } from '../../application/ports/storage-health.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { isLong } from './int64.ts';
import { hasPetId, toArchivedPet } from './pet-document.ts';
import { COLLECTIONS, IDEMPOTENCY_INDEX } from './schema/collection-plans.ts';
import { petsOf } from './schema/collections.ts';
import { examineSchema } from './schema/schema-problems.ts';

const READ_TIMEOUT_MS = 60_000;

/** Needs only the built-in role `read` on the database. */
export function mongoInspector(db: Db, reads: ConfirmedReads): StorageInspector {
  const read = <T>(work: () => Promise<T>) => reads.read(READ_TIMEOUT_MS, work);
  return {
    async *findings() {
      const { problems, stored, warning } = await read(() => examineSchema(db));
      if (warning !== undefined) yield { about: 'privileges', problem: warning };
      for (const { collection, problem, repair } of problems) {
        const command = typeof repair === 'string' ? `; run in mongosh: ${repair}` : '';
        yield { about: `collection "${collection}"`, problem: `it ${problem}${command}` };
      }
      const hasUniqueIndex = !problems.some(({ problem }) => problem.includes(IDEMPOTENCY_INDEX.name));
      for (const { ids } of hasUniqueIndex ? [] : await read(() => sharedIdempotencyKeys(db))) {
        yield { about: `pets ${ids.join(', ')}`, problem: 'they share an idempotency key' };
      }
      // Documents may be older than the validator. `CheckStorage` checks API keys. A later build may accept more.
      const validated = COLLECTIONS.filter(({ name }) => name !== 'api_keys' && !stored.isLater);
      for (const { name, documentName, validator } of validated) {
        const invalid = db.collection(name, { promoteLongs: false }).find({ $nor: [validator] });
        const next = () => read(() => invalid.next());
        for (let document = await next(); document !== null; document = await next()) {
          const record = document;
          // `CheckStorage` reports damaged pets.
          if (name === 'pets' && hasPetId(record) && isDamaged(() => toArchivedPet(record))) continue;
          const id = isLong(record._id) ? String(record._id) : BSON.EJSON.stringify(record._id);
          yield { about: `${documentName} ${id.slice(0, 100)}`, problem: 'the validator does not accept it' };
        }
      }
    },
  };
}

function sharedIdempotencyKeys(db: Db) {
  const stages = [
    { $match: { 'idem.k': { $exists: true } } },
    { $sort: { _id: 1 } },
    { $group: { _id: '$idem.k', ids: { $push: '$_id' } } },
    { $match: { 'ids.1': { $exists: true } } },
    { $sort: { 'ids.0': 1 } },
    { $limit: 10 },
  ];
  const groups = petsOf(db).aggregate<{ readonly ids: readonly unknown[] }>(stages, { allowDiskUse: true });
  return groups.toArray();
}
