import { KEY } from '../../support/http.ts';

export const LIVEZ = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

/** A request that asks the service to close the connection after the answer. */
export const CLOSING_REQUEST = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';

/** A request with a long answer: eight such answers do not fit in the buffers of the operating system. */
export const SCRIPT = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n';

/** A request that lists pets, with this query. */
export const list = (query = '') =>
  `GET /v1/pets${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

/** The head of a request that creates a pet. */
export const post = (headers: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n`;

/** A request that creates a pet. */
export const create = (body: string) => post(`Content-Length: ${Buffer.byteLength(body)}\r\n`) + body;
