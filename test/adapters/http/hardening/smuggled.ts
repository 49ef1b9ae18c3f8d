import { afterAll, beforeAll, expect } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { post } from '../raw-requests.ts';

export const BODY = petBody();
export const HEX = BODY.length.toString(16);
export const LENGTH = `Content-Length: ${BODY.length}\r\n`;
export const TE = 'Transfer-Encoding: chunked\r\n';
export const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;

/** Bytes that an attacker wants the service to treat as a request. */
export const SMUGGLED = post(LENGTH) + BODY;

/**
 * A service for all tests of a file, and a function that sends bytes on a new connection. It expects exactly these
 * answers and the end of the connection, no pet, and no failure.
 */
export function sharedService() {
  const pets = new InMemoryPetRepository();
  let api: Api;
  beforeAll(async () => void (api = await startApi({ pets })));
  afterAll(() => api.close());
  return async (bytes: string, answers: readonly object[]) => {
    const got = await api.raw(Buffer.from(bytes, 'latin1'));
    expect(got.map(whole)).toStrictEqual(answers);
    expect(got.at(-1)?.headers['connection']).toBe('close');
    expect([await pets.list({ limit: 1 }), api.log.failures]).toStrictEqual([[], []]);
  };
}
