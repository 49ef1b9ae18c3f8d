import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { StoredTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { idOf, mintKey, tokenForm } from '../../../src/adapters/tokens/token.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import { ApiKeyNotActive } from '../../../src/application/keys/errors.ts';
import { RevokeKey } from '../../../src/application/keys/stored-keys.ts';
import { RotateKey } from '../../../src/application/keys/rotate-key.ts';
import type { Caller } from '../../../src/application/ports/token-verifier.ts';
import { keyDraft } from '../../contracts/api-key-repository-model.ts';
import { command as commandOf } from '../../contracts/model.ts';
import { text } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';
import { forged } from '../../support/api-keys.ts';
import { fakeClock } from '../../support/fake-clock.ts';

/** "Running services refuse the key within ten seconds": `RevokeKey`. */
const BOUND_MS = 10_000;

type Key = {
  readonly token: string;
  readonly caller: Caller;
  /** On the wall clock. */
  expiresMs: number;
  isRevoked: boolean;
  /** When the key was revoked or shortened, on the clock that nobody sets. */
  changedMs: number;
  /** Before the change. */
  readonly firstExpiresMs: number;
};

type Model = { readonly keys: Key[]; wallMs: number; elapsedMs: number };

/** Services and a command line on one store. */
class Real {
  readonly model: Model;
  readonly clock: ReturnType<typeof fakeClock>;
  readonly #store = new InMemoryApiKeyRepository();
  readonly #now = () => new Date(this.model.wallMs);
  readonly services = [1, 2].map(() => new StoredTokenVerifier(this.#store, tokenForm, this.#now));
  readonly create = new CreateKey(this.#store, mintKey, this.#now);
  readonly revoke = new RevokeKey(this.#store, this.#now);
  readonly rotate = new RotateKey(this.#store, this.create, this.#now);

  constructor(model: Model, clock: ReturnType<typeof fakeClock>) {
    this.model = model;
    this.clock = clock;
  }
}

const command = commandOf<Model, Real>;
const ms = fc.oneof(fc.integer({ min: 0, max: 12_000 }), fc.constantFrom(0, 1, 4_999, 5_000, 9_999, 10_000));
const which = fc.nat(20);

function pick({ keys }: Model, n: number): Key | undefined {
  return keys[n % Math.max(1, keys.length)];
}

function isActive({ wallMs }: Model, key: Key): boolean {
  return !key.isRevoked && wallMs < key.expiresMs;
}

function add(model: Model, { token, key }: Awaited<ReturnType<CreateKey['execute']>>): void {
  const { expiresAt, createdAt: _created, digest: _digest, ...caller } = key;
  const expiresMs = expiresAt === undefined ? Infinity : Number(expiresAt);
  model.keys.push({
    token,
    caller,
    expiresMs,
    firstExpiresMs: expiresMs,
    isRevoked: false,
    changedMs: Infinity,
  });
}

const create = fc.tuple(keyDraft, fc.option(ms, { nil: undefined })).map(([draft, lifeMs]) =>
  command(`create, for ${lifeMs} ms`, async (model, real) => {
    const expiresAt = lifeMs === undefined ? undefined : new Date(model.wallMs + lifeMs + 1);
    add(model, await real.create.execute({ ...draft, expiresAt }));
  }),
);

const revoke = which.map((n) =>
  command(`revoke ${n}`, async (model, real) => {
    const key = pick(model, n);
    if (key === undefined) return;
    await real.revoke.execute(key.caller.id);
    if (!key.isRevoked) key.changedMs = Math.min(key.changedMs, model.elapsedMs);
    key.isRevoked = true;
  }),
);

const rotate = fc.tuple(which, ms).map(([n, overlapMs]) =>
  command(`rotate ${n} with ${overlapMs} ms`, async (model, real) => {
    const key = pick(model, n);
    if (key === undefined) return;
    const rotating = real.rotate.execute(key.caller.id, { overlapMs });
    if (!isActive(model, key)) {
      await expect(rotating).rejects.toThrow(ApiKeyNotActive);
      return;
    }
    const created = await rotating;
    expect({ ...created.key, id: '' }).toMatchObject({ originId: key.caller.id, ...key.caller, id: '' });
    add(model, created);
    key.expiresMs = Math.min(key.expiresMs, model.wallMs + overlapMs);
    key.changedMs = Math.min(key.changedMs, model.elapsedMs);
  }),
);

const verify = fc.tuple(which, fc.nat(1)).map(([n, service]) =>
  command(`verify ${n} by ${service}`, async (model, real) => {
    const key = pick(model, n);
    if (key === undefined) return;
    const found = await real.services[service]!.verify(key.token);
    const isRecent = model.elapsedMs - key.changedMs < BOUND_MS;
    // A service may trust what it knew for a while, but never beyond the expiry that it knew.
    const mayTrust = isRecent && model.wallMs < key.firstExpiresMs;
    if (isActive(model, key)) expect(found).toStrictEqual(key.caller);
    else if (!mayTrust) expect(found).toBeUndefined();
    else expect([undefined, key.caller]).toContainEqual(found);
  }),
);

const verifyWrong = fc
  .tuple(which, fc.nat(71), fc.oneof(text, fc.constantFrom('0', 'a', '_')))
  .map(([n, at, mark]) =>
    command(`verify ${n} with ${fc.stringify(mark)} at ${at}`, async (model, real) => {
      const token = pick(model, n)?.token ?? '';
      const wrong = token.slice(0, at) + mark + token.slice(at + 1);
      if (wrong !== token || token === '') expect(await real.services[0]!.verify(wrong)).toBeUndefined();
    }),
  );

const verifyForged = which.map((n) =>
  command(`verify a forged token of ${n}`, async (model, real) => {
    const key = pick(model, n);
    if (key === undefined) return;
    const token = forged(key.token);
    expect(idOf(token)).toBe(key.caller.id);
    expect(await real.services[0]!.verify(token)).toBeUndefined();
  }),
);

const advance = ms.map((span) =>
  command(`advance ${span} ms`, async (model, real) => {
    model.wallMs += span;
    model.elapsedMs += span;
    real.clock.advance(span);
  }),
);

const setClock = fc.integer({ min: -20_000, max: 20_000 }).map((jumpMs) =>
  command(`set the clock by ${jumpMs} ms`, async (model) => {
    model.wallMs += jumpMs;
  }),
);

it('every service accepts an active key, and no service an ended one after ten seconds', async () => {
  const clock = fakeClock();
  const commands = [
    create,
    create,
    revoke,
    rotate,
    verify,
    verify,
    verify,
    verifyWrong,
    verifyForged,
    advance,
    advance,
    setClock,
  ];
  await holds(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (calls) => {
      const model: Model = { keys: [], wallMs: Date.UTC(2026, 10, 20), elapsedMs: 0 };
      await fc.asyncModelRun(() => ({ model, real: new Real(model, clock) }), calls);
    }),
    60,
  );
});
