import { petBody } from '../../../support/pets.ts';
import { post } from '../raw-requests.ts';

export const BODY = petBody();
export const HEX = BODY.length.toString(16);
export const LENGTH = `Content-Length: ${BODY.length}\r\n`;
export const TE = 'Transfer-Encoding: chunked\r\n';
export const CHUNKED = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`;

/** Bytes that an attacker wants the service to treat as a request. */
export const SMUGGLED = post(LENGTH) + BODY;
