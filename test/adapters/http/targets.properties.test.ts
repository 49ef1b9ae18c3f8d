import fc from 'fast-check';
import { expect, it } from 'vitest';
import { holds } from '../../../proof/properties/holds.ts';
import { KEY, startApi } from '../../support/http.ts';

/** What parsers of URLs treat in a special way. */
const PARTS = ['%', '%ff', '@', ':', '[', ']', '/', '?', '//', 'x', 'v1/pets'];
const aText = fc.array(fc.constantFrom(...PARTS), { maxLength: 5 }).map((parts) => parts.join(''));

it('no request target and no Host causes an error of the service', async () => {
  await using api = await startApi();
  await holds(
    fc.asyncProperty(fc.constantFrom('/', 'http://', 'https://'), aText, aText, async (begin, rest, host) => {
      const [answer] = await api.raw(
        `GET ${begin}${rest} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer?.status).toBeLessThan(500);
      expect(api.log.failures).toStrictEqual([]);
    }),
    500,
  );
});
