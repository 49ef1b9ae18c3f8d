import { setTimeout } from 'node:timers/promises';
import { createPet, type Error as PetstoreError, listPets, type NewPet, type Pet } from './client';

const MAX_ATTEMPTS = 5;

class Refused extends Error {
  constructor(readonly answer: PetstoreError) {
    super(answer.message);
  }
}

async function create(pet: NewPet, idempotencyKey: string = crypto.randomUUID()): Promise<Pet> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await createPet(pet, { headers: { 'Idempotency-Key': idempotencyKey } });
      if (answer.status === 201) return answer.data;
      throw new Refused(answer.data);
    } catch (error) {
      const isTemporary =
        error instanceof Refused
          ? [429, 502, 503, 504].includes(error.answer.status)
          : error instanceof TypeError;
      if (attempt === MAX_ATTEMPTS || !isTemporary) throw error;
      await setTimeout(1000);
    }
  }
}

async function* list(): AsyncGenerator<Pet> {
  let cursor: string | undefined;
  do {
    const answer = await listPets({ limit: 2, cursor });
    if (answer.status !== 200) throw new Refused(answer.data);
    yield* answer.data;
    cursor = answer.headers.get('Next-Cursor') ?? undefined;
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
