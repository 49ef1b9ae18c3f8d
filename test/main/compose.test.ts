import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryRateLimiter } from '../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, knownKey } from '../../src/adapters/memory/token-verifier.ts';
import { CreatePet } from '../../src/application/pets/create-pet.ts';
import { GetPet } from '../../src/application/pets/get-pet.ts';
import { ListPets } from '../../src/application/pets/list-pets.ts';
import { APP, CREATE_PET, compose, GET_PET, LIST_PETS, PARTS, type Parts } from '../../src/main/compose.ts';

type Token = Parameters<ReturnType<typeof compose>['resolve']>[0];

function parts(): Parts {
  return {
    pets: new InMemoryPetRepository(),
    probe: { check: async () => {} },
    tokens: new InMemoryTokenVerifier([]),
    log: { answered() {}, failed() {}, petCreated() {}, notLimited() {}, connectionTrouble() {} },
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

  it('gives the HTTP API what it was given', async () => {
    const taken: unknown[] = [];
    const created: unknown[] = [];
    const given: Parts = {
      ...parts(),
      tokens: new InMemoryTokenVerifier([knownKey({ label: 'ci', token: 'ci-0123456789abcdef' })]),
      limiter: {
        take: async (...one) => {
          taken.push(one);
          return { allowed: true, remaining: 3, resetSeconds: 5 };
        },
      },
      rateLimit: { requests: 7, seconds: 9 },
      log: { ...parts().log, petCreated: (pet) => void created.push(pet) },
      trustProxy: true,
      corsOrigins: ['https://shop.example'],
    };
    const server = createServer(compose(given).resolve(APP)).listen(0, '127.0.0.1');
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
      ['ci', given.rateLimit],
      ['ci', given.rateLimit],
    ]);
    expect(created).toStrictEqual([{ requestId: 'a', petId: 1n, keyId: 'ci', key: 'ci', replayed: false }]);
  });

  it('shares nothing with another root of the same process', async () => {
    const [one, other] = [compose(parts()), compose(parts())];
    await one.resolve(CREATE_PET).execute({ name: 'Rex', categoryId: 1n });
    expect(await other.resolve(LIST_PETS).execute({})).toStrictEqual({ pets: [] });
    expect(other.resolve(APP)).not.toBe(one.resolve(APP));
  });
});
