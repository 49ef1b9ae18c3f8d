import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryTokenVerifier, knownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import { CreateKey } from '../../src/application/keys/create-key.ts';
import { CreatePet } from '../../src/application/pets/create-pet.ts';
import { GetPet } from '../../src/application/pets/get-pet.ts';
import { ListPets } from '../../src/application/pets/list-pets.ts';
import { SCOPES } from '../../src/domain/api-key.ts';
import { compose, type Needs, type Parts } from '../../src/main/program/compose.ts';

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
  it.each([
    ['listPets', ListPets],
    ['createPet', CreatePet],
    ['getPet', GetPet],
    ['createKey', CreateKey],
    ['app', Function],
  ] as const)('makes one %s and keeps it', (name, type) => {
    const made = compose(parts());
    const first = made[name];
    expect(first).toBeInstanceOf(type);
    expect(made[name]).toBe(first);
  });

  it('returns the parts that it was given instead of making them', () => {
    const given = { ...parts(), tokens: new InMemoryTokenVerifier([]) };
    const made = compose(given);
    expect(made.pets).toBe(given.pets);
    expect(made.tokens).toBe(given.tokens);
  });

  it('names the part that is missing', () => {
    // @ts-expect-error The compiler refuses it first.
    expect(() => compose({}).listPets).toThrow('"pets"');
  });

  it('gives every use case the same repository', async () => {
    const made = compose(parts());
    const { pet } = await made.createPet.execute({ name: 'Rex', categoryId: 1n });
    expect(await made.getPet.execute(pet.id)).toStrictEqual(pet);
    expect(await made.listPets.execute({})).toStrictEqual({ pets: [pet] });
  });

  it('knows the keys in the storage and those that it was given', async () => {
    const made = compose(parts());
    const { key, token } = await made.createKey.execute({ label: 'till', scopes: SCOPES });
    expect(await made.tokens.verify(token)).toMatchObject({ id: key.id });
    expect(await made.tokens.verify('ci-0123456789abcdef')).toMatchObject({ id: 'ci' });
  });

  it('gives the HTTP API what it was given', async () => {
    const taken: unknown[] = [];
    const created: unknown[] = [];
    const rateLimit = { requests: 7, seconds: 9 };
    const given: Needs<'app'> = {
      ...parts(),
      limiter: {
        take: async (...one) => {
          taken.push(one);
          return { allowed: true, remaining: 3, resetSeconds: 5 };
        },
      },
      log: { ...parts().log, petCreated: (pet) => void created.push(pet) },
      settings: { ...settings, rateLimit, trustProxy: true, corsOrigins: ['https://shop.example'] },
    };
    const server = createServer(compose(given).app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const headers = {
      authorization: 'Bearer ci-0123456789abcdef',
      'content-type': 'application/json',
      'x-request-id': 'a',
      'x-forwarded-host': 'petstore.example',
      origin: 'https://shop.example',
    };
    const send = (path: string, method: string, body?: string) =>
      fetch(`http://127.0.0.1:${port}/v1${path}`, { method, headers, ...(body !== undefined && { body }) });
    const added = await send('/pets', 'POST', '{"name":"Rex","categoryId":1}');
    const got = await send('/pets/1', 'GET');
    await Promise.all([added.text(), got.text()]);
    server.close();
    server.closeAllConnections();
    expect(added.status).toBe(201);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      ratelimit: '"key";r=3;t=5',
      'ratelimit-policy': '"key";q=7;w=9',
      link: '<http://petstore.example/docs#getPet>; rel="deprecation"; type="text/html"',
      'access-control-allow-origin': 'https://shop.example',
    });
    expect(taken).toStrictEqual([
      ['ci', rateLimit],
      ['ci', rateLimit],
    ]);
    expect(created).toStrictEqual([
      { requestId: 'a', petId: 1n, keyId: 'ci', keyLabel: 'ci', replayed: false },
    ]);
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
    const { pet } = await made.createPet.execute({ name: 'Rex', categoryId: 1n });
    expect(pet.name).toBe('not Rex');
    expect(made.pets).not.toBe(given.pets);
    expect(made.pets).toBe(made.pets);
    expect(wrapped).toStrictEqual([made.createPet]);
    expect(made.keys).toBe(given.keys);
  });

  it('shares nothing with another root of the same process', async () => {
    const [one, other] = [compose(parts()), compose(parts())];
    await one.createPet.execute({ name: 'Rex', categoryId: 1n });
    expect(await other.listPets.execute({})).toStrictEqual({ pets: [] });
    expect(other.app).not.toBe(one.app);
  });
});
