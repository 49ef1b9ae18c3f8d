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

/**
 * After this time without a reply, an insert is sent again: a quarter of what a call may take. What it needs besides
 * takes as long at most. The driver has been seen to wait forever for a reply whose connection was reset.
 */
const REPLY_TIMEOUT_MS = 5_000;

/** How long a service backs off at most. */
const MAX_PAUSE_MS = 500;

/**
 * Stores new pets. The insert itself claims their ids: docs/explanation/ids-on-mongodb.md explains the claims, the
 * collisions, the unknown outcomes and the elections, with the invariants that this class asserts.
 */
export class PetClaims {
  readonly #db: Db;
  readonly #reads: ConfirmedReads;
  readonly #meter: StorageMeter | undefined;
  /** One insert is under way at a time. */
  readonly #inserts = new Batcher<Claim, void>((claims) => this.#store(claims), { maxWaitMs: Infinity });
  /** The greatest id that is known in this term. */
  #last = 0n;
  #term: PrimaryTerm | undefined;
  /** How long inserts have lost to other services since this one has stored a pet. */
  #losingMs = 0;
  /** The moving average of that time. 0 while no other service stores pets. */
  #lostMs = 0;

  constructor(db: Db, reads: ConfirmedReads, meter: StorageMeter | undefined) {
    this.#db = db;
    this.#reads = reads;
    this.#meter = meter;
  }

  /**
   * @returns the durable document of the pet, or the one that has its idempotency key
   * @throws {PetIdsExhausted}
   * @throws {StorageUnavailable} the pet may have been stored
   */
  add(newClaim: NewClaim): Promise<PetDocument> {
    const claim = { ...newClaim, ...Promise.withResolvers<PetDocument>() };
    void this.#inserts.add(claim);
    return claim.promise;
  }

  /** A failure rejects the claims. @throws {AssertionError} */
  async #store(claims: readonly Claim[]): Promise<void> {
    const batch = withoutEqualKeys(claims.filter(({ deadline }) => !deadline.hasPassed));
    // Claims that lost an id come after newer ones.
    batch.sort((a, b) => a.deadline.atMs - b.deadline.atMs);
    try {
      await batch.at(-1)?.deadline.retry(() => this.#send(batch));
    } catch (error) {
      for (const { reject } of batch) reject(error);
      // No caller handles this rejection, so it ends the process as a bug.
      if (error instanceof AssertionError) throw error;
      this.#term = undefined;
    }
  }

  /** Takes out of the batch what has an outcome. */
  async #send(batch: Claim[]): Promise<void> {
    while (batch.length > 0) {
      const wasSent = batch[0]?.document !== undefined;
      const documents = await this.#number(batch);
      if (documents.length === 0) return;
      const sentAtMs = performance.now();
      const failure = await withDeadline(REPLY_TIMEOUT_MS, () => this.#insert(documents, wasSent));
      const stored = batch.splice(0, failure?.index ?? batch.length);
      if (stored.length > 0) this.#onStored(stored);
      if (failure !== undefined) await this.#onFailure(batch, failure, wasSent, sentAtMs);
      else if (this.#losingMs + this.#lostMs > 0) await this.#backOff(sentAtMs);
    }
  }

  /**
   * Gives the claims their ids, unless they have been sent before. Nothing comes between this and the insert: the driver
   * would report another primary first.
   *
   * @throws {StorageUnavailable}
   */
  async #number(batch: Claim[]): Promise<readonly PetDocument[]> {
    const sentBefore = batch.flatMap(({ document }) => document ?? []);
    assert([0, batch.length].includes(sentBefore.length), 'claims are sent again together');
    const sent = sentBefore[0] && toBigInt(sentBefore[0]._id);
    while (this.#term === undefined || this.#term !== this.#reads.term) {
      this.#last = await this.#reads.read(REPLY_TIMEOUT_MS, () => lastId(this.#db));
      const { term } = this.#reads;
      if (term === undefined) throw new StorageUnavailable('no primary is known');
      if (sent === undefined || sent <= this.#last + 1n) this.#term = term;
      // The ids before it have been rolled back.
      else await withDeadline(REPLY_TIMEOUT_MS, () => reserveIds(this.#db, sent - 1n));
    }
    if (sent !== undefined) return sentBefore;
    const left = MAX_PET_ID - this.#last;
    if (left < batch.length) {
      for (const { reject } of batch.splice(Number(left))) reject(new PetIdsExhausted());
    }
    return batch.map((claim, index) => {
      const id = this.#last + BigInt(index) + 1n;
      claim.document = toPetDocument({ ...claim.pet, id }, claim.idempotency, claim.token);
      return claim.document;
    });
  }

  /** Stores nothing below the greatest id, which readers may have passed: a fence takes the id of the first one. */
  async #insert(documents: readonly PetDocument[], wasSent: boolean): Promise<Failure | undefined> {
    const id = toBigInt(documents[0]!._id);
    if (id > this.#last) return insertInOrder(this.#db, documents);
    assert(wasSent, 'the id of a new claim is above the greatest one that is known in the term');
    await putFence(this.#db, id, id);
    return { index: 0, code: CODES.DuplicateKey, errmsg: `the id ${id} is taken`, keyPattern: { _id: 1 } };
  }

  #onStored(stored: readonly Claim[]): void {
    this.#meter?.insertsCommitted(stored.length);
    for (const { document, resolve } of stored) resolve(document!);
    const id = toBigInt(stored.at(-1)!.document!._id);
    // What was sent before an election may have been stored.
    if (id > this.#last) this.#last = id;
  }

  /**
   * @param batch begins with the claim that was rejected; those behind it were not tried
   * @param wasSent whether an earlier attempt may have stored some of them
   */
  async #onFailure(batch: Claim[], failure: Failure, wasSent: boolean, sentAtMs: number): Promise<void> {
    const error = new MongoServerError({ message: failure.errmsg, ...failure });
    const field = duplicateField(error);
    if (field !== '_id' && field !== 'idem.k') {
      const refusal = toStorageError(error);
      if (isTransient(refusal)) throw refusal;
      batch.shift()?.reject(refusal);
      for (const claim of batch.splice(0)) this.#again(claim);
      return;
    }
    const isIdTaken = field === '_id';
    // A new primary may not yet show what an earlier attempt has stored.
    const [found, last] = await this.#reads.read(REPLY_TIMEOUT_MS, () =>
      Promise.all([isIdTaken && !wasSent ? [] : this.#find(batch), lastId(this.#db, LATEST)]),
    );
    const byId = new Map(found.map((document) => [String(document._id), document]));
    const stored = batch.findIndex((claim) => !isStored(claim, byId.get(String(claim.document!._id))));
    if (stored !== 0) {
      // An earlier attempt has stored them, and may be about to store the others.
      this.#onStored(batch.splice(0, stored === -1 ? batch.length : stored));
      return;
    }
    // Another primary may have lost ids that no majority had.
    if (this.#term === this.#reads.term) {
      assert(last >= this.#last, `the greatest pet id fell from ${this.#last} to ${last}: pets were removed`);
    }
    this.#last = last;
    if (isIdTaken) this.#losingMs += performance.now() - sentAtMs;
    const byKey = new Map(found.map((document) => [document.idem?.k, document]));
    for (const claim of batch.splice(0)) {
      const existing = claim.idempotency && byKey.get(claim.idempotency.key);
      if (existing === undefined) this.#again(claim);
      else claim.resolve(existing);
    }
  }

  /** The documents that have the ids or the idempotency keys of the claims. */
  #find(batch: readonly Claim[]): Promise<PetDocument[]> {
    const ids = batch.map(({ document }) => document!._id);
    const keys = batch.flatMap(({ idempotency }) => idempotency?.key ?? []);
    return petsOf(this.#db)
      .find({ $or: [{ _id: { $in: ids } }, { 'idem.k': { $in: keys } }] })
      .toArray();
  }

  /** Claims another id, together with what waits. */
  #again(claim: Claim): void {
    delete claim.document;
    void this.#inserts.add(claim);
  }

  /**
   * Lets the other services store their pets, for one round trip and twice the average time that this service has
   * lost to them, and at most {@link MAX_PAUSE_MS}: docs/decisions.md, "A service that shares the database backs off
   * after an insert".
   */
  async #backOff(sentAtMs: number): Promise<void> {
    this.#lostMs += (this.#losingMs - this.#lostMs) / 8;
    this.#losingMs = 0;
    await sleep(Math.min(performance.now() - sentAtMs + 2 * this.#lostMs, MAX_PAUSE_MS));
    const before = this.#last;
    this.#last = await this.#reads.read(REPLY_TIMEOUT_MS, () => lastId(this.#db, LATEST));
    if (this.#last === before) this.#lostMs = 0;
  }
}
