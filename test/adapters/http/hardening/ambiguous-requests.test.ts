import { describe, test } from 'vitest';
import { NOT_HTTP } from '../../../support/answer.ts';
import { BODY, CHUNKED, HEX, LENGTH, sharedService, SMUGGLED, TE } from './smuggled.ts';
import { post } from '../raw-requests.ts';

const expectExactly = sharedService();

/** Expects one answer, after which the connection closes. The smuggled bytes are not read as a request. */
const expectRefusal = (bytes: string) => expectExactly(bytes + SMUGGLED, [NOT_HTTP]);

describe('a request with an ambiguous length is refused, and nothing after it is processed', () => {
  test.each([
    ['a length and chunks', LENGTH + TE],
    [
      'chunks and a length, in mixed upper and lower case',
      `tRANSFER-eNCODING: cHUNKED\r\ncontent-LENGTH: ${BODY.length}\r\n`,
    ],
    ['a length and an empty coding', `Content-Length: ${BODY.length}\r\nTransfer-Encoding:\r\n`],
    ['a length and an unknown coding', `Content-Length: ${BODY.length}\r\nTransfer-Encoding: xchunked\r\n`],
    ['a coding in the next line', `Transfer-Encoding:\r\n chunked\r\n`],
    ['a space before the colon', 'Transfer-Encoding : chunked\r\n'],
    ['a space before the name', ' Transfer-Encoding: chunked\r\n'],
    ['a NUL in the name', 'Transfer-Encoding\0: chunked\r\n'],
    ['a NUL after the coding', 'Transfer-Encoding: chunked\0\r\n'],
    ['a vertical tab before the coding', 'Transfer-Encoding: \vchunked\r\n'],
    ['a no-break space after the coding', 'Transfer-Encoding: chunked\xa0\r\n'],
    ['a tab after the coding', 'Transfer-Encoding: chunked\t\r\n'],
    ['xchunked', 'Transfer-Encoding: xchunked\r\n'],
    ['"chunked"', 'Transfer-Encoding: "chunked"\r\n'],
    ['identity', 'Transfer-Encoding: identity\r\n'],
    ['chunked, identity', 'Transfer-Encoding: chunked, identity\r\n'],
    ['gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    [', chunked', 'Transfer-Encoding: , chunked\r\n'],
    ['chunked twice', TE + TE],
    ['identity, and chunked in a second header', `Transfer-Encoding: identity\r\n${TE}`],
    ['chunked, hidden after a bare CR', 'X: y\rTransfer-Encoding: chunked\r\n'],
    ['chunked, hidden after a bare LF', 'X: y\nTransfer-Encoding: chunked\r\n'],
  ])('%s', async (_, headers) => {
    await expectRefusal(post(headers) + CHUNKED);
  });

  test.each([
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${BODY.length}\r\n`],
    ['the same length twice', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}\r\n`],
    ['the same length twice in one header', `Content-Length: ${BODY.length}, ${BODY.length}\r\n`],
    ['an empty length', 'Content-Length:\r\n'],
    ['a plus', `Content-Length: +${BODY.length}\r\n`],
    ['a minus', `Content-Length: -${BODY.length}\r\n`],
    ['hexadecimal', `Content-Length: 0x${HEX}\r\n`],
    ['a fraction', `Content-Length: ${BODY.length}.0\r\n`],
    ['a space inside', 'Content-Length: 2 9\r\n'],
    ['a NUL', `Content-Length: ${BODY.length}\0\r\n`],
    ['the length plus 2^64', `Content-Length: ${2n ** 64n + BigInt(BODY.length)}\r\n`],
    ['a space before the colon', `Content-Length : ${BODY.length}\r\n`],
    ['folded', `Content-Length:\r\n ${BODY.length}\r\n`],
  ])('%s', async (_, headers) => {
    await expectRefusal(post(headers) + BODY);
  });
});

const good = post(LENGTH);

test.each([
  ['bare LF', good.replaceAll('\r\n', '\n')],
  ['bare LF at the end of the headers', good.replace(/\r\n$/, '\n')],
  ['bare LF between two headers', post(`X: y\n${LENGTH}`)],
  ['bare CR', good.replaceAll('\r\n', '\r')],
  ['CR inside a value', post(`X: y\rz\r\n${LENGTH}`)],
  ['a space before the first header', good.replace('Host', ' Host')],
  ['a header without a colon', post(`X\r\n${LENGTH}`)],
  ['a header without a name', post(`: y\r\n${LENGTH}`)],
  ['a name that is not a token', post(`X(y): z\r\n${LENGTH}`)],
  ['a folded value', post(`X: y\r\n z\r\n${LENGTH}`)],
  ['a NUL in a value', post(`X: y\0\r\n${LENGTH}`)],
  ['DEL in a value', post(`X: y\x7f\r\n${LENGTH}`)],
  ['a space after the version', good.replace('HTTP/1.1', 'HTTP/1.1 ')],
  ['a NUL in the target', good.replace('/v1/pets', '/v1/pets\0')],
  ['a byte of Latin-1 in the target', good.replace('/v1/pets', '/v1/pets\xe9')],
])('an invalid line is refused, and nothing after it is processed: %s', async (_, head) => {
  await expectRefusal(head + BODY);
});

test.each([
  ['the size plus 2^64', `1000000000000001d\r\n${BODY}\r\n0\r\n\r\n`],
  ['0x', `0x${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a minus', `-${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a plus', `+${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a letter that is not hexadecimal', `${HEX}g\r\n${BODY}\r\n0\r\n\r\n`],
  ['no size', `\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space before the size', ` ${HEX}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space after the size', `${HEX} \r\n${BODY}\r\n0\r\n\r\n`],
  ['bare LF after the size', `${HEX}\n${BODY}\r\n0\r\n\r\n`],
  ['bare CR after the size', `${HEX}\r${BODY}\r\n0\r\n\r\n`],
  ['no line end after the data', `${HEX}\r\n${BODY}0\r\n\r\n`],
  ['bare LF after the data', `${HEX}\r\n${BODY}\n0\r\n\r\n`],
  ['bare LF after the last size', `${HEX}\r\n${BODY}\r\n0\n\r\n`],
  ['bare LF at the end', `${HEX}\r\n${BODY}\r\n0\r\n\n`],
  ['an extension without a name', `${HEX};\r\n${BODY}\r\n0\r\n\r\n`],
  ['bare LF in an extension', `${HEX};a\n${BODY}\r\n0\r\n\r\n`],
  ['a NUL in an extension', `${HEX};a\0\r\n${BODY}\r\n0\r\n\r\n`],
  ['a length among the trailers', `${HEX}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`],
  ['chunks among the trailers', `${HEX}\r\n${BODY}\r\n0\r\n${TE}\r\n`],
  ['a trailer that is not a header', `${HEX}\r\n${BODY}\r\n0\r\nX y: z\r\n\r\n`],
  ['a folded trailer', `${HEX}\r\n${BODY}\r\n0\r\nX: y\r\n z\r\n\r\n`],
])('an invalid chunk is refused, and nothing after it is processed: %s', async (_, chunks) => {
  await expectRefusal(post(TE) + chunks);
});

const chunked = post(`${TE}Connection: keep-alive\r\n`) + CHUNKED;

test.each([
  ['HTTP/1.0 with chunks', chunked.replace('HTTP/1.1', 'HTTP/1.0')],
  ['HTTP/2.0 with a body', `${post(LENGTH).replace('HTTP/1.1', 'HTTP/2.0')}${BODY}`],
  ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/0.9', 'GET /livez\r\n\r\n'],
  ['HTTP/0.9 with a version', 'GET /livez HTTP/0.9\r\nHost: x\r\n\r\n'],
  ['HTTP/1.2', 'GET /livez HTTP/1.2\r\nHost: x\r\n\r\n'],
  ['http/1.1', 'GET /livez http/1.1\r\nHost: x\r\n\r\n'],
])('another version is refused, and nothing after it is processed: %s', async (_, bytes) => {
  await expectRefusal(bytes);
});
