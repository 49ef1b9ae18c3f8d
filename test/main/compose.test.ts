import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryTokenVerifier, knownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import { ListPets } from '../../src/application/pets/list-pets.ts';
import { SCOPES } from '../../src/domain/api-key.ts';
import { compose, type Parts } from '../../src/main/program/compose.ts';
import { aPet } from '../support/pets.ts';

const settings = { publicUrl: undefined, rateLimit: undefined, trustProxy: false, corsOrigins: [] };

function parts() {
  return {
    pets: new InMemoryPetRepository(),
    keys: new InMemoryApiKeyRepository(),
    probe: { check: async () => ({ lastId: 0n }) },
    knownKeys: [knownKey({ label: 'ci', token: 'ci-0123456789abcdef' })],
    log: { answered() {}, failed() {}, petCreated() {}, notLimited() {}, connectionTrouble() {} },
    settings,
    isDraining: () => false,
  } satisfies Partial<Parts>;
}

describe('the composition root', () => {
  it('makes each part once, and returns the parts that it was given instead', () => {
    const given = { ...parts(), tokens: new InMemoryTokenVerifier([]) };
    const made = compose(given);
    expect(made.listPets).toBeInstanceOf(ListPets);
    expect(made.listPets).toBe(made.listPets);
    expect(made.tokens).toBe(given.tokens);
  });

  it('names the part that is missing', () => {
    // @ts-expect-error The compiler refuses it first.
    expect(() => compose({}).listPets).toThrow('"pets"');
  });

  it('knows the keys in the storage and those that it was given', async () => {
    const made = compose(parts());
    const { key, token } = await made.createKey.execute({ label: 'till', scopes: SCOPES });
    expect(await made.tokens.verify(token)).toMatchObject({ id: key.id });
    expect(await made.tokens.verify('ci-0123456789abcdef')).toMatchObject({ id: 'ci' });
  });

  it('decorates parts that were given, and parts that it made', async () => {
    const given = parts();
    const wrapped: unknown[] = [];
    const made = compose(given, {
      pets: (pets) => ({
        insert: (pet) => pets.insert({ ...pet, name: `not ${pet.name}` }),
        insertOnce: (pet, idempotency) => pets.insertOnce(pet, idempotency),
        findById: (id) => pets.findById(id),
        list: (query) => pets.list(query),
      }),
      createPet: (createPet) => {
        wrapped.push(createPet);
        return createPet;
      },
    });
    const { pet } = await made.createPet.execute(aPet());
    expect(pet.name).toBe('not Rex');
    expect(made.pets).not.toBe(given.pets);
    expect(made.pets).toBe(made.pets);
    expect(wrapped).toStrictEqual([made.createPet]);
    expect(made.keys).toBe(given.keys);
  });

  it('shares nothing with another root of the same process', async () => {
    const [one, other] = [compose(parts()), compose(parts())];
    await one.createPet.execute(aPet());
    expect(await other.listPets.execute({})).toStrictEqual({ pets: [] });
    expect(other.app).not.toBe(one.app);
  });
});
