import { mintKey, tokenForm } from '../../src/adapters/tokens/token.ts';
import { StoredTokenVerifier } from '../../src/application/keys/token-verifiers.ts';
import type { MintedKey } from '../../src/application/keys/create-key.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { SCOPES, USE_INTERVAL_MS, type ApiKey } from '../../src/domain/api-key.ts';
import type { Caller } from '../../src/application/ports/token-verifier.ts';
import { numbers } from '../../test/support/numbers.ts';
import { type Call, Calls } from './calls.ts';
import type { Simulation } from './simulation.ts';

/** The date that belongs to 0 ms on the virtual clock. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

const MAX_ATTEMPTS = 20;

/**
 * Within this time after the last failure of the storage, every process notices that the storage works, and every cache
 * has dropped the keys that have ended.
 */
const RECOVERY_MS = 30_000;

export type KeyStore = {
  /** One repository per process. */
  readonly repositories: readonly ApiKeyRepository[];
  /** The deadline of a call, in virtual milliseconds. */
  readonly limitMs: number;
  /** The longest time after the acknowledged end of a key in which the key may be accepted. */
  readonly maxAcceptedMs: () => number;
  /** All keys in the store. */
  readonly stored: () => readonly Pick<ApiKey, 'id' | 'revokedAt' | 'lastUsedAt'>[];
};

/** A key of the test, and all that its callers know about it. */
type TestKey = {
  readonly label: string;
  readonly mintedKey: MintedKey;
  /** The callers have a token that does not belong to the stored digest. */
  readonly isForged: boolean;
  /** The expiry with which the key is inserted, or `Infinity`. */
  readonly expiresAtMs: number;
  isInserted: boolean;
  /** An operator has called `revoke` or `expire` with the key. The call may have failed. */
  isEnding: boolean;
  isRevoked: boolean;
  /**
   * When the key has ended: at the acknowledged expiry, or at the acknowledgement if this is later. `Infinity` if it
   * has not.
   */
  endedAtMs: number;
  /** How long the event loop had stalled up to the acknowledgement. */
  stalledAtEndMs: number;
  /** When the key was last accepted. `-Infinity` if it never was. */
  acceptedAtMs: number;
};

/** Callers that use keys, and operators that revoke keys, on one or several processes. */
export class KeyCallers {
  readonly #simulation: Simulation;
  readonly #store: KeyStore;
  readonly #calls: Calls;
  readonly #verifiers: readonly StoredTokenVerifier[];
  readonly #keys: readonly TestKey[];
  readonly #unknownToken = mintKey().token;
  #hasRecordedUses = false;

  constructor(simulation: Simulation, store: KeyStore) {
    this.#simulation = simulation;
    this.#store = store;
    this.#calls = new Calls(simulation);
    const expiresAtMs = simulation.nowMs + simulation.random.between(500, 20_000);
    this.#keys = [newKey('one'), newKey('two'), newKey('brief', expiresAtMs), newKey('forged')];
    this.#verifiers = store.repositories.map(
      (keys) => new StoredTokenVerifier(keys, tokenForm, () => this.#now()),
    );
  }

  /** Plays the whole schedule of calls. Never rejects. */
  async start(): Promise<void> {
    const { random } = this.#simulation;
    const [first] = this.#store.repositories;
    await Promise.all(this.#keys.map((key) => this.#insert(first!, key)));
    const work = this.#verifiers.flatMap((verifier, process) =>
      numbers(random.integer(1, 4)).map(() => this.#work(verifier, process, random.integer(1, 10))),
    );
    await Promise.all(work);
    const recordings = await Promise.all(this.#verifiers.map((verifier) => this.#recordUses(verifier)));
    this.#hasRecordedUses = recordings.every(Boolean);
    this.#simulation.calm();
    await this.#simulation.wait('recovered', RECOVERY_MS);
    await Promise.all(this.#verifiers.map((verifier) => this.#checkRecovery(verifier)));
  }

  /** Checks the keys in the store. Call it when no event is pending. */
  verify(): void {
    const simulation = this.#simulation;
    this.#calls.verifyAllSettled();
    const stored = new Map(this.#store.stored().map((key) => [key.id, key]));
    for (const { label, mintedKey, isInserted, isRevoked, acceptedAtMs } of this.#keys) {
      const key = stored.get(mintedKey.id);
      simulation.check(!isInserted || key !== undefined, () => `key ${label} is lost`);
      simulation.check(!isRevoked || key?.revokedAt !== undefined, () => `${label} lost its revocation`);
      if (!this.#hasRecordedUses || acceptedAtMs === -Infinity) continue;
      const usedAtMs = (key?.lastUsedAt?.getTime() ?? -Infinity) - EPOCH_MS;
      const isRecorded = usedAtMs > acceptedAtMs - USE_INTERVAL_MS - 1;
      simulation.check(isRecorded, () => `the use of key ${label} at ${acceptedAtMs} is lost`);
    }
  }

  async #insert(repository: ApiKeyRepository, key: TestKey): Promise<void> {
    const { label, mintedKey, isForged, expiresAtMs } = key;
    const digest = isForged ? mintKey().digest : mintedKey.digest;
    const expiry = expiresAtMs < Infinity && { expiresAt: new Date(EPOCH_MS + expiresAtMs) };
    const stored = { id: mintedKey.id, digest, label, scopes: SCOPES, createdAt: this.#now(), ...expiry };
    for (const _ of numbers(MAX_ATTEMPTS)) {
      const { failure } = await this.#call(`insert key ${label}`, () => repository.insert(stored));
      key.isInserted = failure === undefined;
      if (key.isInserted) return;
    }
  }

  async #work(verifier: StoredTokenVerifier, process: number, calls: number): Promise<void> {
    const { random } = this.#simulation;
    const repository = this.#store.repositories[process]!;
    for (const _ of numbers(calls)) {
      const pauseMs = random.chance(0.4) ? random.between(500, 7_000) : random.between(0, 10);
      await this.#simulation.wait('a caller comes', pauseMs);
      const key = random.pick(this.#keys);
      const action = random.next();
      if (action < 0.6) await this.#verify(verifier, key);
      else if (action < 0.7)
        await Promise.all(numbers(random.integer(2, 9)).map(() => this.#verify(verifier, key)));
      else if (action < 0.8) await this.#verifyUnknown(verifier);
      else if (action < 0.87) await this.#end(repository, key);
      else if (action < 0.95) await this.#endDuringLookup(verifier, repository, key);
      else await this.#call('record uses', () => verifier.recordUses());
    }
  }

  /** Checks that this process accepts valid keys and refuses invalid keys after all failures have ended. */
  async #checkRecovery(verifier: StoredTokenVerifier): Promise<void> {
    for (const key of this.#keys) {
      const { name, value, failure } = await this.#call(`verify ${key.label} after recovery`, () =>
        verifier.verify(key.mintedKey.token),
      );
      this.#simulation.check(failure === undefined, () => `${name}: ${failure}, although everything works`);
      const isValid = key.isInserted && !key.isForged && !key.isEnding && key.expiresAtMs === Infinity;
      this.#simulation.check(!isValid || value !== undefined, () => `${name}: a valid key was refused`);
      const isInvalid = key.isForged || Math.min(key.endedAtMs, key.expiresAtMs) < Infinity;
      this.#simulation.check(!isInvalid || value === undefined, () => `${name}: an invalid key was accepted`);
    }
  }

  async #verify(verifier: StoredTokenVerifier, key: TestKey): Promise<void> {
    const simulation = this.#simulation;
    const beganAtMs = simulation.nowMs;
    const wasValid = key.isInserted && !key.isForged && !key.isEnding;
    const stalledMs = simulation.stalledMs - key.stalledAtEndMs;
    const isTooLate = beganAtMs > key.endedAtMs + this.#store.maxAcceptedMs() + stalledMs;
    const { name, value, failure } = await this.#call(`verify ${key.label}`, () =>
      verifier.verify(key.mintedKey.token),
    );
    if (failure !== undefined) return;
    if (value === undefined) {
      const mayBeRefused = key.isEnding || simulation.nowMs >= key.expiresAtMs - 1;
      simulation.check(!wasValid || mayBeRefused, () => `${name}: a valid key was refused`);
      if (beganAtMs > key.endedAtMs) simulation.noteState('key-refused-after-end');
      return;
    }
    key.acceptedAtMs = Math.max(key.acceptedAtMs, simulation.nowMs);
    simulation.check(!key.isForged, () => `${name}: accepted a token that does not belong to the digest`);
    simulation.check(beganAtMs < key.expiresAtMs, () => `${name}: accepted an expired key`);
    if (beganAtMs > key.endedAtMs) simulation.noteState('key-accepted-after-end');
    else if (simulation.nowMs > key.endedAtMs) simulation.noteState('key-in-use-ended');
    simulation.check(!isTooLate, () => `${name}: accepted ${beganAtMs - key.endedAtMs} ms after its end`);
    simulation.check(isCallerOf(value, key), () => `${name}: the caller belongs to another key`);
  }

  /** Ends a key during a lookup of the key. The acknowledgement of the end may come before the reply to the lookup. */
  async #endDuringLookup(verifier: StoredTokenVerifier, keys: ApiKeyRepository, key: TestKey): Promise<void> {
    const { random } = this.#simulation;
    const firstLookup = this.#verify(verifier, key);
    await this.#simulation.wait('an operator comes', random.between(0, 10));
    await Promise.all([firstLookup, this.#end(keys, key)]);
    await this.#simulation.wait('a caller comes back', random.between(4_500, 7_000));
    await this.#verify(verifier, key);
  }

  async #verifyUnknown(verifier: StoredTokenVerifier): Promise<void> {
    const { name, value } = await this.#call('verify unknown', () => verifier.verify(this.#unknownToken));
    this.#simulation.check(value === undefined, () => `${name}: an unknown key was accepted`);
  }

  async #end(repository: ApiKeyRepository, key: TestKey): Promise<void> {
    const { random } = this.#simulation;
    const isRevocation = random.chance(0.7);
    const delayMs = isRevocation ? 0 : random.between(0, 3_000);
    const atMs = this.#simulation.nowMs + delayMs;
    const at = new Date(EPOCH_MS + atMs);
    key.isEnding ||= key.isInserted;
    const { value } = await this.#call(`${isRevocation ? 'revoke' : 'expire'} ${key.label}`, () =>
      isRevocation ? repository.revoke(key.mintedKey.id, at) : repository.expire(key.mintedKey.id, at),
    );
    if (value === undefined) return;
    key.isRevoked ||= isRevocation;
    const endedAtMs = Math.max(atMs, this.#simulation.nowMs);
    if (endedAtMs >= key.endedAtMs) return;
    key.endedAtMs = endedAtMs;
    key.stalledAtEndMs = this.#simulation.stalledMs;
  }

  /** @returns whether one of the attempts has succeeded */
  async #recordUses(verifier: StoredTokenVerifier): Promise<boolean> {
    for (const _ of numbers(MAX_ATTEMPTS)) {
      const { failure } = await this.#call('record uses', () => verifier.recordUses());
      if (failure === undefined) return true;
    }
    return false;
  }

  #call<T>(what: string, work: () => Promise<T>): Promise<Call<T>> {
    return this.#calls.make(what, { limitMs: this.#store.limitMs, errors: ['storage-unavailable'] }, work);
  }

  #now(): Date {
    return new Date(EPOCH_MS + this.#simulation.nowMs);
  }
}

function newKey(label: string, expiresAtMs = Infinity): TestKey {
  return {
    label,
    mintedKey: mintKey(),
    isForged: label === 'forged',
    expiresAtMs,
    isInserted: false,
    isEnding: false,
    isRevoked: false,
    endedAtMs: Infinity,
    stalledAtEndMs: 0,
    acceptedAtMs: -Infinity,
  };
}

function isCallerOf({ id, label }: Caller, key: TestKey): boolean {
  return id === key.mintedKey.id && label === key.label;
}
