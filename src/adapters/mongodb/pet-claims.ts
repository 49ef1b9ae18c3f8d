import assert, { AssertionError } from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Db, MongoServerError } from 'mongodb';
import { PetIdsExhausted } from '../../application/pets/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import { Batcher } from './round-trips/batcher.ts';
import { withDeadline } from './connection/deadline.ts';
import type { ConfirmedReads, PrimaryTerm } from './confirmed-reads.ts';
import { duplicateField, isTransient, toStorageError } from './connection/mongo-errors.ts';
import { CODES } from './connection/server-error-codes.ts';
import { type Claim, isStored, type NewClaim, withoutEqualKeys } from './pet-claim.ts';
import { toPetDocument } from './pet-document.ts';
import { type Failure, insertInOrder, LATEST, lastId, putFence, reserveIds } from './pet-ids.ts';
import { toBigInt } from './int64.ts';
import { type PetDocument, petsOf } from './schema/collections.ts';

/** After this time without a reply, the insert is sent again. */
const REPLY_TIMEOUT_MS = 5_000;

const MAX_PAUSE_MS = 500;

/**
 * Stores new pets. A claim is a pet that waits for its id. The insert itself takes the id: see
 * docs/explanation/ids-on-mongodb.md.
 */
export class PetClaims {
  readonly #db: Db;
  readonly #reads: ConfirmedReads;
  readonly #meter: StorageMeter | undefined;
  readonly #inserts = new Batcher<Claim, void>((claims) => this.#store(claims), { maxWaitMs: Infinity });
  #lastId = 0n;
  #termOfLastId: PrimaryTerm | undefined;
  /** The time lost to collisions of ids since this service last stored a pet. */
  #collisionMs = 0;
  /** The moving average of `#collisionMs`. 0 while no other service stores pets. */
  #meanCollisionMs = 0;

  constructor(db: Db, reads: ConfirmedReads, meter: StorageMeter | undefined) {
    this.#db = db;
    this.#reads = reads;
    this.#meter = meter;
  }

  /**
   * @returns the durable document of the pet, or of the earlier pet with its idempotency key
   * @throws {PetIdsExhausted}
   * @throws {StorageUnavailable} after which the pet may be stored or not
   */
  add(newClaim: NewClaim): Promise<PetDocument> {
    const claim = { ...newClaim, ...Promise.withResolvers<PetDocument>() };
    void this.#inserts.add(claim);
    return claim.promise;
  }

  /**
   * A failure rejects the claims.
   *
   * @throws {AssertionError}
   */
  async #store(claims: readonly Claim[]): Promise<void> {
    const batch = withoutEqualKeys(claims.filter(({ deadline }) => !deadline.hasPassed));
    // Sorts by age, because a claim that lost its id was added after newer claims.
    batch.sort((a, b) => a.deadline.atMs - b.deadline.atMs);
    try {
      await batch.at(-1)?.deadline.retry(() => this.#send(batch));
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // No caller handles this rejection, so the rejection ends the process as a bug.
      if (error instanceof AssertionError) throw error;
      this.#termOfLastId = undefined;
    }
  }

  /** Removes each claim from the batch when its outcome is known. */
  async #send(batch: Claim[]): Promise<void> {
    while (batch.length > 0) {
      const wasSent = batch[0]?.document !== undefined;
      const documents = await this.#assignIds(batch);
      if (documents.length === 0) return;
      const sentAtMs = performance.now();
      const failure = await withDeadline(REPLY_TIMEOUT_MS, () => this.#insert(documents, wasSent));
      const storedClaims = batch.splice(0, failure?.index ?? batch.length);
      if (storedClaims.length > 0) this.#onStored(storedClaims);
      if (failure !== undefined) await this.#onFailure(batch, failure, wasSent, sentAtMs);
      else if (this.#collisionMs + this.#meanCollisionMs > 0) await this.#backOff(sentAtMs);
    }
  }

  /**
   * Assigns ids, unless an earlier attempt assigned them. No `await` may separate the check of the term and the insert.
   *
   * @throws {StorageUnavailable}
   */
  async #assignIds(batch: Claim[]): Promise<readonly PetDocument[]> {
    const sentDocuments = batch.flatMap(({ document }) => document ?? []);
    assert([0, batch.length].includes(sentDocuments.length), 'claims are sent again together');
    const sentId = sentDocuments[0] && toBigInt(sentDocuments[0]._id);
    while (this.#termOfLastId === undefined || this.#termOfLastId !== this.#reads.term) {
      this.#lastId = await this.#reads.read(REPLY_TIMEOUT_MS, () => lastId(this.#db));
      const { term } = this.#reads;
      if (term === undefined) throw new StorageUnavailable('no primary is known');
      if (sentId === undefined || sentId <= this.#lastId + 1n) this.#termOfLastId = term;
      // An election has rolled back ids before `sentId`.
      else await withDeadline(REPLY_TIMEOUT_MS, () => reserveIds(this.#db, sentId - 1n));
    }
    if (sentId !== undefined) return sentDocuments;
    const freeIdCount = MAX_PET_ID - this.#lastId;
    if (freeIdCount < batch.length) {
      for (const { reject } of batch.splice(Number(freeIdCount))) reject(new PetIdsExhausted());
    }
    return batch.map((claim, index) => {
      const id = this.#lastId + BigInt(index) + 1n;
      claim.document = toPetDocument({ ...claim.pet, id }, claim.idempotency, claim.token);
      return claim.document;
    });
  }

  /** Readers may have passed an id up to `#lastId`. A fence (a document without a pet) takes such an id instead. */
  async #insert(documents: readonly PetDocument[], wasSent: boolean): Promise<Failure | undefined> {
    const id = toBigInt(documents[0]!._id);
    if (id > this.#lastId) return insertInOrder(this.#db, documents);
    assert(wasSent, 'the id of a new claim is above the greatest one that is known in the term');
    await putFence(this.#db, id, id);
    return { index: 0, code: CODES.DuplicateKey, errmsg: `the id ${id} is taken`, keyPattern: { _id: 1 } };
  }

  #onStored(storedClaims: readonly Claim[]): void {
    this.#meter?.insertsCommitted(storedClaims.length);
    for (const { document, resolve } of storedClaims) resolve(document!);
    const id = toBigInt(storedClaims.at(-1)!.document!._id);
    // Documents that were sent before an election can have ids below the greatest id.
    if (id > this.#lastId) this.#lastId = id;
  }

  /**
   * @param batch begins with the rejected claim
   * @param wasSent whether an earlier attempt may have stored some claims
   */
  async #onFailure(batch: Claim[], failure: Failure, wasSent: boolean, sentAtMs: number): Promise<void> {
    const error = new MongoServerError({ message: failure.errmsg, ...failure });
    const field = duplicateField(error);
    if (field !== '_id' && field !== 'idem.k') {
      const refusal = toStorageError(error);
      if (isTransient(refusal)) throw refusal;
      batch.shift()?.reject(refusal);
      for (const claim of batch.splice(0)) this.#addAgain(claim);
      return;
    }
    const isIdTaken = field === '_id';
    // A confirmed read, because a new primary may not yet show what an earlier attempt has stored.
    const [documents, id] = await this.#reads.read(REPLY_TIMEOUT_MS, () =>
      Promise.all([isIdTaken && !wasSent ? [] : this.#findStored(batch), lastId(this.#db, LATEST)]),
    );
    const byId = new Map(documents.map((document) => [String(document._id), document]));
    const firstUnstored = batch.findIndex((claim) => !isStored(claim, byId.get(String(claim.document!._id))));
    if (firstUnstored !== 0) {
      // An earlier attempt stored these claims, and may later store the remaining claims.
      this.#onStored(batch.splice(0, firstUnstored === -1 ? batch.length : firstUnstored));
      return;
    }
    // Only in the same term, because another primary may lack ids that no majority had stored.
    if (this.#termOfLastId === this.#reads.term) {
      assert(id >= this.#lastId, `the greatest pet id fell from ${this.#lastId} to ${id}: pets were removed`);
    }
    this.#lastId = id;
    if (isIdTaken) this.#collisionMs += performance.now() - sentAtMs;
    const byKey = new Map(documents.map((document) => [document.idem?.k, document]));
    for (const claim of batch.splice(0)) {
      const existing = claim.idempotency && byKey.get(claim.idempotency.key);
      if (existing === undefined) this.#addAgain(claim);
      else claim.resolve(existing);
    }
  }

  #findStored(batch: readonly Claim[]): Promise<PetDocument[]> {
    const ids = batch.map(({ document }) => document!._id);
    const keys = batch.flatMap(({ idempotency }) => idempotency?.key ?? []);
    return petsOf(this.#db)
      .find({ $or: [{ _id: { $in: ids } }, { 'idem.k': { $in: keys } }] })
      .toArray();
  }

  #addAgain(claim: Claim): void {
    delete claim.document;
    void this.#inserts.add(claim);
  }

  /** Lets other services store their pets: see docs/explanation/ids-on-mongodb.md#what-two-clients-see. */
  async #backOff(sentAtMs: number): Promise<void> {
    this.#meanCollisionMs += (this.#collisionMs - this.#meanCollisionMs) / 8;
    this.#collisionMs = 0;
    await sleep(Math.min(performance.now() - sentAtMs + 2 * this.#meanCollisionMs, MAX_PAUSE_MS));
    const previousId = this.#lastId;
    this.#lastId = await this.#reads.read(REPLY_TIMEOUT_MS, () => lastId(this.#db, LATEST));
    if (this.#lastId === previousId) this.#meanCollisionMs = 0;
  }
}
