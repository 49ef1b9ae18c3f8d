import { afterAll, beforeAll, expect } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { brief } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { post } from '../raw-requests.ts';

/** A valid body of a create request, its size in hexadecimal digits, and its form in chunks. */
export const BODY = petBody();
export const HEX_SIZE = BODY.length.toString(16);
export const CHUNKED_BODY = `${HEX_SIZE}\r\n${BODY}\r\n0\r\n\r\n`;

/** The header of a request with this body, and the header of a request with this body in chunks. */
export const HEADER = {
  sized: `Content-Length: ${BODY.length}\r\n`,
  chunked: 'Transfer-Encoding: chunked\r\n',
};

/** A create request that an attacker hides in another request, or behind it. The service must not process it. */
export const SMUGGLED = post(HEADER.sized) + BODY;

/**
 * Starts a service for all tests of a file. Returns a function that sends bytes on a new connection, and expects
 * exactly the given answers and then the end of the connection. The service must store no pet, and log no failure.
 */
export function answersOfService() {
  const pets = new InMemoryPetRepository();
  let api: Api;
  beforeAll(async () => void (api = await startApi({ pets })));
  afterAll(() => api.close());
  return async (bytes: string, answers: readonly object[]) => {
    const received = await api.raw(Buffer.from(bytes, 'latin1'));
    expect(received.map(brief)).toStrictEqual(answers);
    expect(received.at(-1)?.headers['connection']).toBe('close');
    expect([await pets.list({ limit: 1 }), api.log.failures]).toStrictEqual([[], []]);
  };
}
