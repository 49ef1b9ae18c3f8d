import { setTimeout } from 'node:timers/promises';
import { client } from './client/client.gen';
import { createPet, listPets } from './client/sdk.gen';
import type { NewPet, Pet, Error as PetstoreError } from './client/types.gen';

const MAX_ATTEMPTS = 5;

client.setConfig({
  baseUrl: process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1',
  auth: process.env['PETSTORE_KEY'] ?? '',
  // The default writes a bigint as a string, which the service refuses.
  bodySerializer: (body: unknown) => JSON.stringify(body, writeInt64),
  // The default parser rounds before the transformers see a number. They take strings too.
  fetch: async (input, init) => {
    const response = await fetch(input, init);
    const text = await response.text();
    return new Response(text.replaceAll(/("(?:id|categoryId)":)(-?\d+)/g, '$1"$2"'), response);
  },
});

function writeInt64(_key: string, value: unknown): unknown {
  const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
  return typeof value === 'bigint' ? rawJSON(String(value)) : value;
}

class Refused extends Error {
  constructor(readonly answer: PetstoreError) {
    super(answer.message);
  }
}

async function create(body: NewPet, idempotencyKey: string = crypto.randomUUID()): Promise<Pet> {
  for (let attempt = 1; ; attempt++) {
    const { data, error } = await createPet({ body, headers: { 'Idempotency-Key': idempotencyKey } });
    if (data !== undefined) return data;
    const isTemporary = error.status === undefined || [429, 502, 503, 504].includes(error.status);
    if (attempt === MAX_ATTEMPTS || !isTemporary) throw new Refused(error);
    await setTimeout(1000);
  }
}

async function* list(): AsyncGenerator<Pet> {
  let cursor: string | undefined;
  do {
    const { data, error, response } = await listPets({ query: { limit: 2, cursor } });
    if (data === undefined) throw new Refused(error);
    yield* data;
    cursor = response?.headers.get('Next-Cursor') ?? undefined;
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
