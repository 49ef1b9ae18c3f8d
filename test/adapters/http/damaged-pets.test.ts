import { expect, test } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { sunsetHeaders, problem, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { FailingPetRepository, petBody } from '../../support/pets.ts';

const PUBLIC_URL = 'https://petstore.example';

const cursorAfter = (id: number) => `v1.${id.toString(16).padStart(16, '0')}`;

function unavailable(headers: Record<string, string> = {}): ReturnType<typeof brief> {
  const message = 'a stored record is damaged; it has been logged under this request id';
  return problem(503, 'UNAVAILABLE', message, { 'retry-after': '2', ...headers });
}

/** Starts the service with a storage that rejects every call with this error. */
function startWithError(error: DamagedPet) {
  return startApi({ pets: new FailingPetRepository(error), publicUrl: PUBLIC_URL });
}

function nextPageHeaders(limit: number, after: number): Record<string, string> {
  const cursor = cursorAfter(after);
  const link = `<${PUBLIC_URL}/v1/pets?limit=${limit}&cursor=${cursor}>; rel="next"`;
  return { link, 'next-cursor': cursor };
}

// A page ends before a damaged pet: see test/application/pets/list-pets.test.ts. The service answers the
// request for the next page with this 503.
// A link must lead forwards, because a client that follows a link to an earlier page would loop for ever.
test.each([
  ['absent', 3, '', nextPageHeaders(20, 3)],
  ['absent, and the damaged pet has the id 0', 0, '', nextPageHeaders(20, 0)],
  ['before the damaged pet', 3, `?limit=1&cursor=${cursorAfter(2)}`, nextPageHeaders(1, 3)],
  ['at the damaged pet', 3, `?cursor=${cursorAfter(3)}`, {}],
  ['after the damaged pet', 3, `?cursor=${cursorAfter(4)}`, {}],
])(
  'the 503 links to the page after the damaged pet only if the cursor of the request is before that pet: the cursor is %s',
  async (_, id, query, link) => {
    await using api = await startWithError(new DamagedPet(BigInt(id), 'its name is empty'));
    expect(brief(await api.get(`/v1/pets${query}`))).toStrictEqual(unavailable(link));
  },
);

test('a get of a damaged pet is answered with 503 and logged, and so is a retry of the request that created this pet', async () => {
  const error = new DamagedPet(3n, 'its name is empty');
  await using api = await startWithError(error);
  const id = { 'x-request-id': 'the-damaged-one' };
  expect(brief(await api.get('/v1/pets/3', id))).toStrictEqual(unavailable(sunsetHeaders(PUBLIC_URL)));
  const retried = await api.post(petBody(), { 'idempotency-key': 'once', ...id });
  expect(brief(retried)).toStrictEqual(unavailable());
  const logged = { error, requestId: 'the-damaged-one' };
  expect(api.log.failures).toStrictEqual([logged, logged]);
});
