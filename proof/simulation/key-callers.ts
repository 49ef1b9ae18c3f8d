import { mintKey, tokenForm } from '../../src/adapters/tokens/token.ts';
import { StoredTokenVerifier } from '../../src/application/keys/token-verifiers.ts';
import type { MintedKey } from '../../src/application/keys/create-key.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { SCOPES, USE_INTERVAL_MS, type ApiKey } from '../../src/domain/api-key.ts';
import type { Caller } from '../../src/application/ports/token-verifier.ts';
import { numbers } from '../../test/support/numbers.ts';
import { type Call, Calls } from './calls.ts';
import type { Simulation } from './simulation.ts';

/** The date when the virtual clock shows 0. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

const MAX_ATTEMPTS = 20;

/** When the outside works again, every process has noticed that within this time. No ended key is trusted then. */
const RECOVERY_MS = 30_000;

export type KeyStore = {
  /** One for each process. */
  readonly repositories: readonly ApiKeyRepository[];
  /** The deadline of a call, in virtual milliseconds. */
  readonly limitMs: number;
  /** How long after its acknowledged end a key may still be accepted. */
  readonly acceptedMs: () => number;
  /** Everything that the store holds in the end. */
  readonly stored: () => readonly Pick<ApiKey, 'id' | 'revokedAt' | 'lastUsedAt'>[];
};

/** A key, and what its callers know about it. */
type Known = {
  readonly label: string;
  readonly minted: MintedKey;
  /** No caller has the token that belongs to the stored digest. */
  readonly isForged: boolean;
  /** From when on it is invalid, as it was inserted. */
  readonly expiresAtMs: number;
  isInserted: boolean;
  /** Someone has begun to revoke it or to let it expire. */
  isEnding: boolean;
  isRevoked: boolean;
  /** When it was revoked or expired, and that was acknowledged. */
  endedAtMs: number;
  /** How long the event loop had stalled at `endedAtMs`. */
  stalledMs: number;
  acceptedAtMs: number;
};

/** Callers with keys, and operators who revoke them, on one or several processes. */
export class KeyCallers {
  readonly #simulation: Simulation;
  readonly #store: KeyStore;
  readonly #calls: Calls;
  readonly #verifiers: readonly StoredTokenVerifier[];
  readonly #keys: readonly Known[];
  readonly #unknown = mintKey().token;
  #hasRecordedUses = false;

  constructor(simulation: Simulation, store: KeyStore) {
    this.#simulation = simulation;
    this.#store = store;
    this.#calls = new Calls(simulation);
    const expiresAtMs = simulation.nowMs + simulation.random.between(500, 20_000);
    this.#keys = [aKey('one'), aKey('two'), aKey('brief', expiresAtMs), aKey('forged')];
    this.#verifiers = store.repositories.map(
      (keys) => new StoredTokenVerifier(keys, tokenForm, () => this.#now()),
    );
  }

  /** Never rejects. */
  async start(): Promise<void> {
    const { random } = this.#simulation;
    const [first] = this.#store.repositories;
    await Promise.all(this.#keys.map((key) => this.#insert(first!, key)));
    const work = this.#verifiers.flatMap((verifier, process) =>
      numbers(random.integer(1, 4)).map(() => this.#work(verifier, process, random.integer(1, 10))),
    );
    await Promise.all(work);
    const recorded = await Promise.all(this.#verifiers.map((verifier) => this.#recordUses(verifier)));
    this.#hasRecordedUses = recorded.every(Boolean);
    this.#simulation.calm();
    await this.#simulation.wait('recovered', RECOVERY_MS);
    await Promise.all(this.#verifiers.map((verifier) => this.#checkRecovery(verifier)));
  }

  /** Call it when no event is pending. */
  verify(): void {
    const simulation = this.#simulation;
    this.#calls.verifyAllSettled();
    const stored = new Map(this.#store.stored().map((key) => [key.id, key]));
    for (const { label, minted, isInserted, isRevoked, acceptedAtMs } of this.#keys) {
      const key = stored.get(minted.id);
      simulation.check(!isInserted || key !== undefined, () => `key ${label} is lost`);
      simulation.check(!isRevoked || key?.revokedAt !== undefined, () => `the end of key ${label} is lost`);
      if (!this.#hasRecordedUses || acceptedAtMs === -Infinity) continue;
      const usedAtMs = (key?.lastUsedAt?.getTime() ?? -Infinity) - EPOCH_MS;
      const isRecorded = usedAtMs > acceptedAtMs - USE_INTERVAL_MS - 1;
      simulation.check(isRecorded, () => `the use of key ${label} at ${acceptedAtMs} is lost`);
    }
  }

  async #insert(repository: ApiKeyRepository, key: Known): Promise<void> {
    const { label, minted, isForged, expiresAtMs } = key;
    const digest = isForged ? mintKey().digest : minted.digest;
    const expiry = expiresAtMs < Infinity && { expiresAt: new Date(EPOCH_MS + expiresAtMs) };
    const stored = { id: minted.id, digest, label, scopes: SCOPES, createdAt: this.#now(), ...expiry };
    for (const _ of numbers(MAX_ATTEMPTS)) {
      const { failed } = await this.#make(`insert key ${label}`, () => repository.insert(stored));
      key.isInserted = failed === undefined;
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
      else if (action < 0.95) await this.#race(verifier, repository, key);
      else await this.#make('record uses', () => verifier.recordUses());
    }
  }

  /** Whatever happened before, every process knows every key when the outside works. */
  async #checkRecovery(verifier: StoredTokenVerifier): Promise<void> {
    for (const key of this.#keys) {
      const { name, value, failed } = await this.#make(`verify ${key.label} after all`, () =>
        verifier.verify(key.minted.token),
      );
      this.#simulation.check(failed === undefined, () => `${name}: ${failed}, although everything works`);
      const isGood = key.isInserted && !key.isForged && !key.isEnding && key.expiresAtMs === Infinity;
      this.#simulation.check(!isGood || value !== undefined, () => `${name}: a valid key was refused`);
      const isBad = key.isForged || Math.min(key.endedAtMs, key.expiresAtMs) < Infinity;
      this.#simulation.check(!isBad || value === undefined, () => `${name}: accepted`);
    }
  }

  async #verify(verifier: StoredTokenVerifier, key: Known): Promise<void> {
    const simulation = this.#simulation;
    const beganAtMs = simulation.nowMs;
    const wasGood = key.isInserted && !key.isForged && !key.isEnding;
    const stalledMs = simulation.stalledMs - key.stalledMs;
    const isOver = beganAtMs > key.endedAtMs + this.#store.acceptedMs() + stalledMs;
    const { name, value, failed } = await this.#make(`verify ${key.label}`, () =>
      verifier.verify(key.minted.token),
    );
    if (failed !== undefined) return;
    if (value === undefined) {
      const isOverNow = key.isEnding || simulation.nowMs >= key.expiresAtMs - 1;
      simulation.check(!wasGood || isOverNow, () => `${name}: a valid key was refused`);
      if (beganAtMs > key.endedAtMs) simulation.reach('key-refused-after-end');
      return;
    }
    key.acceptedAtMs = Math.max(key.acceptedAtMs, simulation.nowMs);
    simulation.check(!key.isForged, () => `${name}: accepted a token that has another digest`);
    simulation.check(beganAtMs < key.expiresAtMs, () => `${name}: accepted although it has expired`);
    if (beganAtMs > key.endedAtMs) simulation.reach('key-accepted-after-end');
    else if (simulation.nowMs > key.endedAtMs) simulation.reach('key-in-use-ended');
    simulation.check(!isOver, () => `${name}: accepted ${beganAtMs - key.endedAtMs} ms after its end`);
    simulation.check(isCaller(value, key), () => `${name}: the caller is another one`);
  }

  /** The key ends while its lookup is under way: the end may overtake the reply. */
  async #race(verifier: StoredTokenVerifier, repository: ApiKeyRepository, key: Known): Promise<void> {
    const { random } = this.#simulation;
    const early = this.#verify(verifier, key);
    await this.#simulation.wait('an operator comes', random.between(0, 10));
    await Promise.all([early, this.#end(repository, key)]);
    await this.#simulation.wait('a caller comes back', random.between(4_500, 7_000));
    await this.#verify(verifier, key);
  }

  async #verifyUnknown(verifier: StoredTokenVerifier): Promise<void> {
    const { name, value } = await this.#make('verify unknown', () => verifier.verify(this.#unknown));
    this.#simulation.check(value === undefined, () => `${name}: accepted`);
  }

  async #end(repository: ApiKeyRepository, key: Known): Promise<void> {
    const { random } = this.#simulation;
    const isRevocation = random.chance(0.7);
    const aheadMs = isRevocation ? 0 : random.between(0, 3_000);
    const atMs = this.#simulation.nowMs + aheadMs;
    const at = new Date(EPOCH_MS + atMs);
    key.isEnding ||= key.isInserted;
    const { value } = await this.#make(`${isRevocation ? 'revoke' : 'expire'} ${key.label}`, () =>
      isRevocation ? repository.revoke(key.minted.id, at) : repository.expire(key.minted.id, at),
    );
    if (value === undefined) return;
    key.isRevoked ||= isRevocation;
    const endedAtMs = Math.max(atMs, this.#simulation.nowMs);
    if (endedAtMs >= key.endedAtMs) return;
    key.endedAtMs = endedAtMs;
    key.stalledMs = this.#simulation.stalledMs;
  }

  /** @returns whether it has succeeded in the end */
  async #recordUses(verifier: StoredTokenVerifier): Promise<boolean> {
    for (const _ of numbers(MAX_ATTEMPTS)) {
      const { failed } = await this.#make('record uses', () => verifier.recordUses());
      if (failed === undefined) return true;
    }
    return false;
  }

  #make<T>(what: string, work: () => Promise<T>): Promise<Call<T>> {
    return this.#calls.make(what, { limitMs: this.#store.limitMs, errors: ['storage-unavailable'] }, work);
  }

  #now(): Date {
    return new Date(EPOCH_MS + this.#simulation.nowMs);
  }
}

function aKey(label: string, expiresAtMs = Infinity): Known {
  return {
    label,
    minted: mintKey(),
    isForged: label === 'forged',
    expiresAtMs,
    isInserted: false,
    isEnding: false,
    isRevoked: false,
    endedAtMs: Infinity,
    stalledMs: 0,
    acceptedAtMs: -Infinity,
  };
}

function isCaller({ id, label }: Caller, key: Known): boolean {
  return id === key.minted.id && label === key.label;
}
