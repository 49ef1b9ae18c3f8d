import { KEY } from '../../support/http.ts';

export const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

/** A request for pets, with this query. */
export const list = (query = '') =>
  `GET /v1/pets${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

/** The head of a request that creates a pet. */
export const post = (headers: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n`;
