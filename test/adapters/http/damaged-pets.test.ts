import { expect, test } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { announced, problem, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const PUBLIC_URL = 'https://petstore.example';

const cursorOf = (id: number) => `v1.${id.toString(16).padStart(16, '0')}`;

function unavailable(headers: Record<string, string> = {}): ReturnType<typeof whole> {
  const message = 'a stored record is damaged; it has been logged under this request id';
  return problem(503, 'UNAVAILABLE', message, { 'retry-after': '2', ...headers });
}

/** The service where a pet is damaged. */
function startWith(error: DamagedPet) {
  return startApi({ pets: new FailingPetRepository(error), publicUrl: PUBLIC_URL });
}

function next(limit: number, after: number): Record<string, string> {
  const cursor = cursorOf(after);
  const link = `<${PUBLIC_URL}/v1/pets?limit=${limit}&cursor=${cursor}>; rel="next"`;
  return { link, 'next-cursor': cursor };
}

// A page ends before a damaged pet: test/application/pets/list-pets.test.ts.
// Otherwise a client that follows the link would loop for ever.
test.each([
  ['at the beginning', 3, '', next(20, 3)],
  ['at the beginning, and the damaged pet has the id 0', 0, '', next(20, 0)],
  ['before it', 3, `?limit=1&cursor=${cursorOf(2)}`, next(1, 3)],
  ['at the damaged pet', 3, `?cursor=${cursorOf(3)}`, {}],
  ['after it', 3, `?cursor=${cursorOf(4)}`, {}],
])(
  'the error links to the page after the damaged pet only if the page begins before that pet: it begins %s',
  async (_, id, query, link) => {
    await using api = await startWith(new DamagedPet(BigInt(id), 'its name is empty'));
    expect(whole(await api.get(`/v1/pets${query}`))).toStrictEqual(unavailable(link));
  },
);

test('a get of a damaged pet, and a retry of its create, are answered with 503 and logged each time', async () => {
  const error = new DamagedPet(3n, 'its name is empty');
  await using api = await startWith(error);
  const id = { 'x-request-id': 'the-damaged-one' };
  expect(whole(await api.get('/v1/pets/3', id))).toStrictEqual(unavailable(announced(PUBLIC_URL)));
  const retried = await api.post(petBody(), { 'idempotency-key': 'once', ...id });
  expect(whole(retried)).toStrictEqual(unavailable());
  const logged = { error, requestId: 'the-damaged-one' };
  expect(api.log.failures).toStrictEqual([logged, logged]);
});
