import { BSON, type Db } from 'mongodb';
import { isDamaged } from '../../application/pets/parse-stored-pet.ts';
import type { Finding, StorageInspector } from '../../application/ports/storage-health.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { hasPetId, toArchivedPet } from './pet-document.ts';
import { type CollectionPlan, COLLECTIONS, IDEMPOTENCY_INDEX } from './schema/collection-plans.ts';
import { sharedIdempotencyKeys } from './schema/indexes.ts';
import { examineSchema, UNSEEN } from './schema/schema-problems.ts';
import { isLong } from './schema/collections.ts';

const CALL_TIMEOUT_MS = 60_000;

/** Examines a database. The built-in role `read` on it is enough. */
export function mongoInspector(db: Db, reads: ConfirmedReads): StorageInspector {
  const read = <T>(work: () => Promise<T>) => reads.read(CALL_TIMEOUT_MS, work);

  /** A validator does not check what was stored without it. */
  async function* documentFindings({
    name,
    documentName,
    validator,
  }: CollectionPlan): AsyncGenerator<Finding> {
    // API keys are read one by one in any case.
    if (name === 'api_keys') return;
    const invalid = db.collection(name, { promoteLongs: false }).find({ $nor: [validator] });
    for (;;) {
      const document = await read(() => invalid.next());
      if (document === null) return;
      // Reading the pets reports it with its damage.
      if (name === 'pets' && hasPetId(document) && isDamaged(() => toArchivedPet(document))) continue;
      const id = isLong(document._id) ? String(document._id) : BSON.EJSON.stringify(document._id);
      yield { about: `${documentName} ${id.slice(0, 100)}`, problem: 'the validator does not accept it' };
    }
  }

  return {
    async *findings() {
      const { problems, isWhole } = await read(() => examineSchema(db));
      if (!isWhole) yield { about: 'privileges', problem: UNSEEN };
      for (const { collection, problem, mend } of problems) {
        const command = typeof mend === 'string' ? `; run in mongosh: ${mend}` : '';
        yield { about: `collection "${collection}"`, problem: `it ${problem}${command}` };
      }
      const isUnique = !problems.some(({ problem }) => problem.includes(IDEMPOTENCY_INDEX.name));
      for (const ids of isUnique ? [] : await read(() => sharedIdempotencyKeys(db))) {
        yield { about: `pets ${ids.join(', ')}`, problem: 'they share an idempotency key' };
      }
      for (const plan of COLLECTIONS) yield* documentFindings(plan);
    },
  };
}
