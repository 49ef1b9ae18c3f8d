import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Expected, expectedAnswer, type StoredPet } from '../../../proof/fuzz/expected-answer.ts';
import { readRequests } from '../../../proof/fuzz/read-requests.ts';
import { holds } from '../../../proof/properties/holds.ts';
import { aRequest, bytesOf } from '../../../proof/properties/requests.ts';
import type { Answer } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';

/** No byte beyond these may be in a target: RFC 3986, and RFC 9112, section 3.2. */
const BAD_TARGET: Expected = { statuses: [400], code: 'INVALID_ARGUMENT' };

function expectAnswer(answer: Answer, expected: Expected): void {
  const { statuses, code, names = [], body, headers = {} } = expected;
  expect(statuses).toStrictEqual([answer.status]);
  if (answer.status < 400) {
    expect(answer.body).toBe(body);
    for (const [name, value] of Object.entries(headers)) expect(answer.headers[name], name).toBe(value);
    return;
  }
  const { code: given, message } = JSON.parse(answer.body) as { readonly code: string; message: string };
  expect(given).toBe(code);
  for (const name of names) expect(message).toContain(name);
}

it('any sequence of requests is answered as the contract says', async () => {
  await holds(
    fc.asyncProperty(fc.array(aRequest, { maxLength: 40, size: 'max' }), async (requests) => {
      await using api = await startApi({ speaksTls: false });
      const pets: StoredPet[] = [];
      const byKey = new Map<string, StoredPet>();
      for (const sent of requests) {
        const bytes = bytesOf(sent, api.key);
        const [request] = readRequests(bytes).requests;
        const state = { key: api.key, pets, byKey };
        const expected = request === undefined ? BAD_TARGET : expectedAnswer(request, state);
        const [answer, ...more] = await api.raw(bytes);
        expect(more).toStrictEqual([]);
        expectAnswer(answer!, expected);
        if (expected.pet === undefined || 'idempotent-replayed' in answer!.headers) continue;
        const pet = { id: BigInt(pets.length + 1), ...expected.pet };
        pets.push(pet);
        if (expected.key !== undefined) byKey.set(expected.key, pet);
      }
    }),
    40,
  );
});
