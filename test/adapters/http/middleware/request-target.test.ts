import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { baseUrl } from '../../../../src/adapters/http/middleware/request-target.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:3000'],
  ['::1', 'http://[::1]:3000'],
])('without a Host header (HTTP/1.0), the base URL has the server address %s', (address, base) => {
  const socket = Object.defineProperties(new Socket(), {
    localAddress: { value: address },
    localPort: { value: 3000 },
  });
  const request = new IncomingMessage(socket);
  expect(baseUrl(undefined, false)(request)).toBe(base);
  expect(baseUrl(undefined, true)(request)).toBe(base);
});

test.each([
  ['/v1/pets', 'https://petstore.example', new TLSSocket(new Socket())],
  ['/?from=http://evil.example/', 'http://petstore.example', new Socket()],
])('the base URL of a request for %s is %s', (url, base, socket) => {
  const request = new IncomingMessage(socket);
  Object.assign(request, { url, headers: { host: 'petstore.example' } });
  expect(baseUrl(undefined, false)(request)).toBe(base);
  // No proxy has added a header, so the base URL is the same if a proxy is trusted.
  expect(baseUrl(undefined, true)(request)).toBe(base);
});
