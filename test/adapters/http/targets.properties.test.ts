import fc from 'fast-check';
import { expect, it } from 'vitest';
import { holds } from '../../../proof/properties/holds.ts';
import { KEY, startApi } from '../../support/http.ts';

/** Texts that parsers of URLs treat in a special way. */
const PARTS = ['%', '%ff', '@', ':', '[', ']', '/', '?', '//', 'x', 'v1/pets'];
const texts = fc.array(fc.constantFrom(...PARTS), { maxLength: 5 }).map((parts) => parts.join(''));

it('the service answers any request target and any Host with a status below 500, and logs no failure', async () => {
  await using api = await startApi();
  await holds(
    fc.asyncProperty(fc.constantFrom('/', 'http://', 'https://'), texts, texts, async (begin, rest, host) => {
      const [answer] = await api.raw(
        `GET ${begin}${rest} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer?.status).toBeLessThan(500);
      expect(api.log.failures).toStrictEqual([]);
    }),
    500,
  );
});
