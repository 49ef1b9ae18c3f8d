import { setTimeout } from 'node:timers/promises';
import {
  AnimalsApi,
  Configuration,
  FetchError,
  type ModelError,
  type NewPet,
  type Pet,
  ResponseError,
} from './client';

declare global {
  // In Node 22 and in browsers, but not yet in TypeScript's library.
  interface JSON {
    rawJSON(text: string): object;
    parse(
      text: string,
      revive: (key: string, value: unknown, context: { source: string }) => unknown,
    ): unknown;
  }
  interface BigInt {
    toJSON(): object;
  }
}

// The generated client calls JSON.stringify, which refuses a bigint.
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON(this.toString());
};

const MAX_ATTEMPTS = 5;

const api = new AnimalsApi(
  new Configuration({
    basePath: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
    accessToken: process.env['PETSTORE_KEY'] ?? '',
    fetchApi: async (input, init) => {
      const response = await fetch(input, init);
      response.json = async () =>
        JSON.parse(await response.text(), (key, value, { source }) =>
          key === 'id' || key === 'categoryId' ? BigInt(source) : value,
        );
      return response;
    },
  }),
);

async function create(newPet: NewPet, idempotencyKey: string = crypto.randomUUID()): Promise<Pet> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await api.createPet({ newPet, idempotencyKey });
    } catch (error) {
      const isTemporary =
        error instanceof ResponseError
          ? [429, 502, 503, 504].includes(error.response.status)
          : error instanceof FetchError;
      if (attempt === MAX_ATTEMPTS || !isTemporary) throw error;
      await setTimeout(1000);
    }
  }
}

async function* list(): AsyncGenerator<Pet> {
  let cursor: string | undefined;
  do {
    const page = await api.listPetsRaw({ limit: 2, cursor });
    yield* await page.value();
    cursor = page.raw.headers.get('Next-Cursor') ?? undefined;
  } while (cursor !== undefined);
}

const text = ({ id, name, categoryId, status }: Pet) => `${id} ${name} ${categoryId} ${status}`;

console.log('created', text(await create({ name: 'Rex', categoryId: 9223372036854775807n })));
console.log('created', text(await create({ name: 'Mia', categoryId: 2n, status: 'sold' })));
console.log('created', text(await create({ name: 'Tom', categoryId: 3n })));
console.log('created', text(await create({ name: 'Ada', categoryId: 4n })));
console.log('created', text(await create({ name: 'Kit', categoryId: 5n }, 'the-key-of-kit')));

for await (const pet of list()) console.log('listed', text(pet));

try {
  await create({ name: 'Not Kit', categoryId: 5n }, 'the-key-of-kit');
} catch (error) {
  if (!(error instanceof ResponseError)) throw error;
  const { status, code, message } = (await error.response.json()) as ModelError;
  console.log('refused', status, code, message);
}
