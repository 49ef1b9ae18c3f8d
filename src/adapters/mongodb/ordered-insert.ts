import type { Collection, Db, Document, ObjectId } from 'mongodb';

/** The reply to an `insert`: https://www.mongodb.com/docs/manual/reference/command/insert/ */
type Reply = {
  /** Absent from a standalone server. */
  readonly electionId?: ObjectId;
  /** The document that ended the insert. */
  readonly writeErrors?: readonly [Failure];
};

export type Failure = {
  readonly index: number;
  readonly code: number;
  readonly errmsg: string;
  readonly keyPattern?: Readonly<Record<string, unknown>>;
};

/**
 * Inserts documents in order, up to the first one that is rejected.
 *
 * The driver sends the command to the primary that it knows when this is called. It never sends it again by itself: it
 * does not retry commands, and the client has `maxAdaptiveRetries: 0`. A retry would carry an insert over an election
 * unseen: the new primary may have lost the ids before it.
 *
 * @throws {MongoWriteConcernError} unless a majority stands behind the reply
 */
export async function insertInOrder(
  db: Db,
  { collectionName: insert, writeConcern }: Pick<Collection, 'collectionName' | 'writeConcern'>,
  documents: readonly Document[],
): Promise<Reply> {
  const { w, journal: j, wtimeoutMS: wtimeout } = writeConcern ?? {};
  return db.command({ insert, documents, ordered: true, writeConcern: { w, j, wtimeout } });
}
