import { problem } from '../../../support/answer.ts';
import { KEY } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';

export const NOT_HTTP = problem(400, 'INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');

/** The head of a request that creates a pet. */
export const post = (headers: string) =>
  `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
  `Content-Type: application/json\r\n${headers}\r\n`;

export const BODY = petBody();
export const HEX = BODY.length.toString(16);
export const LENGTH = `Content-Length: ${BODY.length}\r\n`;
export const TE = 'Transfer-Encoding: chunked\r\n';
export const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;

/** Bytes that an attacker wants the service to treat as a request. */
export const SMUGGLED = post(LENGTH) + BODY;
