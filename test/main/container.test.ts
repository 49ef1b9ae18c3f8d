import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier } from '../../src/adapters/memory/token-verifier.ts';
import { CreatePet } from '../../src/application/create-pet.ts';
import { GetPet } from '../../src/application/get-pet.ts';
import { ListPets } from '../../src/application/list-pets.ts';
import { APP, CREATE_PET, compose, GET_PET, LIST_PETS, PARTS, type Parts } from '../../src/main/container.ts';

type Token = Parameters<ReturnType<typeof compose>['resolve']>[0];

function parts(): Parts {
  return {
    pets: new InMemoryPetRepository(),
    probe: { check: async () => {} },
    tokens: new InMemoryTokenVerifier([]),
    log: { answered() {}, failed() {}, petCreated() {}, notLimited() {} },
    now: () => new Date(),
    publicUrl: undefined,
    limiter: new InMemoryRateLimiter(),
    rateLimit: undefined,
    trustProxy: false,
    corsOrigins: [],
    isDraining: () => false,
  };
}

describe('the composition root', () => {
  it.each<[string, Token, new (...dependencies: never[]) => object]>([
    ['LIST_PETS', LIST_PETS, ListPets],
    ['CREATE_PET', CREATE_PET, CreatePet],
    ['GET_PET', GET_PET, GetPet],
    ['APP', APP, Function],
  ])('makes one %s and keeps it', (_name, token, type) => {
    const root = compose(parts());
    const first = root.resolve(token);
    expect(first).toBeInstanceOf(type);
    expect(root.resolve(token)).toBe(first);
  });

  it('hands out the parts that it was given', () => {
    const given = parts();
    expect(compose(given).resolve(PARTS)).toBe(given);
  });

  it('gives every use case the same repository', async () => {
    const root = compose(parts());
    const { pet } = await root.resolve(CREATE_PET).execute({ name: 'Rex', categoryId: 1n });
    expect(await root.resolve(GET_PET).execute(pet.id)).toStrictEqual(pet);
    expect(await root.resolve(LIST_PETS).execute({})).toStrictEqual({ pets: [pet] });
  });

  it('shares nothing with another root of the same process', async () => {
    const [one, other] = [compose(parts()), compose(parts())];
    await one.resolve(CREATE_PET).execute({ name: 'Rex', categoryId: 1n });
    expect(await other.resolve(LIST_PETS).execute({})).toStrictEqual({ pets: [] });
    expect(other.resolve(APP)).not.toBe(one.resolve(APP));
  });
});
