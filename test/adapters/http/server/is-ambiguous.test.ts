import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { isAmbiguous } from '../../../../src/adapters/http/server/is-ambiguous.ts';

test.each([
  ['1.1', undefined, false],
  ['1.1', 'chunked', false],
  ['1.1', 'Chunked', false],
  ['1.1', 'gzip, chunked', true],
  ['1.1', '', true],
  ['1.0', undefined, false],
  ['1.0', 'chunked', true],
  ['0.9', undefined, true],
  ['2.0', undefined, true],
])('HTTP/%s with Transfer-Encoding %j: %j', (httpVersion, coding, expected) => {
  const headers = coding === undefined ? {} : { 'transfer-encoding': coding };
  expect(isAmbiguous({ httpVersion, headers } as IncomingMessage)).toBe(expected);
});
