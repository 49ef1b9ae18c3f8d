import { setTimeout } from 'node:timers/promises';
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.js';

type NewPet = components['schemas']['NewPet'];
type Pet = components['schemas']['Pet'];
type PetstoreError = components['schemas']['Error'];

// JSON.parse rounds large numbers, so each int64 is a text for it, and a text for JSON.stringify. Neither pattern matches
// inside a name: there each quote has a backslash.
const BARE_INT64 = /"(id|categoryId)":(-?\d+)/g;
const QUOTED_INT64 = /"(categoryId)":"(-?\d+)"/g;

const MAX_ATTEMPTS = 5;
const PAGE_SIZE = 2; // Small, to see pages. At most 100.

const api = createClient<paths>({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  headers: { Authorization: `Bearer ${process.env['PETSTORE_KEY']}` },
  bodySerializer: (body) => JSON.stringify(body, writeInt64).replaceAll(QUOTED_INT64, '"$1":$2'),
  fetch: async (request) => {
    const response = await fetch(request);
    response.json = async () =>
      JSON.parse((await response.text()).replaceAll(BARE_INT64, '"$1":"$2"'), readInt64);
    return response;
  },
});

function writeInt64(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}

function readInt64(key: string, value: unknown): unknown {
  return key === 'id' || key === 'categoryId' ? BigInt(value as string) : value;
}

/** An answer of the service that is an error. */
class Refused extends Error {
  readonly answer: PetstoreError;
  readonly response: Response;

  constructor(answer: PetstoreError, response: Response) {
    super(`${answer.status} ${answer.code} ${answer.message}`);
    this.answer = answer;
    this.response = response;
  }
}

/** Adds an animal. Sends the same key with every attempt: the service adds one animal, however often it is asked. */
async function create(pet: NewPet, idempotencyKey: string = crypto.randomUUID()): Promise<Pet> {
  const params = { header: { 'Idempotency-Key': idempotencyKey } };
  for (let attempt = 1; ; attempt++) {
    try {
      const { data, error, response } = await api.POST('/pets', { body: pet, params });
      if (error !== undefined) throw new Refused(error, response);
      return data;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isTemporary(error)) throw error;
      const seconds = error instanceof Refused ? error.response.headers.get('Retry-After') : null;
      await setTimeout(1000 * Number(seconds ?? 1));
    }
  }
}

/** fetch throws a TypeError when no answer comes. */
function isTemporary(error: unknown): boolean {
  return error instanceof Refused
    ? [429, 502, 503, 504].includes(error.response.status)
    : error instanceof TypeError;
}

/** Every animal, in ascending order of id. */
async function* list(status?: Pet['status']): AsyncGenerator<Pet> {
  let cursor: string | undefined;
  do {
    const query = { limit: PAGE_SIZE, status, cursor };
    const { data, error, response } = await api.GET('/pets', { params: { query } });
    if (error !== undefined) throw new Refused(error, response);
    yield* data;
    cursor = response.headers.get('Next-Cursor') ?? undefined;
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
  if (!(error instanceof Refused)) throw error;
  const { status, code, message } = error.answer;
  console.log('refused', status, code, message);
}
