import { isDeepStrictEqual } from 'node:util';
import { BSON, type Document } from 'mongodb';
import type { CollectionPlan } from './collection-plans.ts';

/** @param options of the collection, as `listCollections` reports them */
export function isValidated(options: Document, { validator }: CollectionPlan): boolean {
  const { validator: stored, validationLevel = 'strict', validationAction = 'error' } = options;
  const isEnforced = validationLevel === 'strict' && validationAction === 'error';
  return isEnforced && isDeepStrictEqual(asStored(stored), asStored(validator));
}

/** Numbers of any type compare by their value. */
function asStored(validator: unknown): unknown {
  return JSON.parse(BSON.EJSON.stringify(validator ?? {}, { relaxed: true }));
}
