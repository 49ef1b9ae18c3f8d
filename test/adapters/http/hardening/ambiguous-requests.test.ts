import { describe, test } from 'vitest';
import { NOT_HTTP } from '../../../support/answer.ts';
import { BODY, CHUNKED_BODY, HEX_SIZE, answersOfService, SMUGGLED, HEADER } from './smuggled.ts';
import { post } from '../raw-requests.ts';

const expectAnswers = answersOfService();

/**
 * Sends the bytes, and after them a request that creates a pet. Expects one answer with 400, then the end of the
 * connection, and no pet.
 */
const expectRefusal = (bytes: string) => expectAnswers(bytes + SMUGGLED, [NOT_HTTP]);

describe('the service refuses a request and ignores the bytes after it', () => {
  test.each([
    ['Content-Length and chunks', HEADER.sized + HEADER.chunked],
    [
      'chunks and Content-Length, in mixed upper and lower case',
      `tRANSFER-eNCODING: cHUNKED\r\ncontent-LENGTH: ${BODY.length}\r\n`,
    ],
    ['a length and an empty Transfer-Encoding', `Content-Length: ${BODY.length}\r\nTransfer-Encoding:\r\n`],
    ['a length and the coding xchunked', `Content-Length: ${BODY.length}\r\nTransfer-Encoding: xchunked\r\n`],
    ['the value of Transfer-Encoding in the next line', `Transfer-Encoding:\r\n chunked\r\n`],
    ['a space before the colon of Transfer-Encoding', 'Transfer-Encoding : chunked\r\n'],
    ['a space before the name of Transfer-Encoding', ' Transfer-Encoding: chunked\r\n'],
    ['a NUL in the name of Transfer-Encoding', 'Transfer-Encoding\0: chunked\r\n'],
    ['a NUL after "chunked"', 'Transfer-Encoding: chunked\0\r\n'],
    ['a vertical tab before "chunked"', 'Transfer-Encoding: \vchunked\r\n'],
    ['a no-break space after "chunked"', 'Transfer-Encoding: chunked\xa0\r\n'],
    ['a tab after "chunked"', 'Transfer-Encoding: chunked\t\r\n'],
    ['Transfer-Encoding: xchunked', 'Transfer-Encoding: xchunked\r\n'],
    ['Transfer-Encoding: "chunked", in quotation marks', 'Transfer-Encoding: "chunked"\r\n'],
    ['Transfer-Encoding: identity', 'Transfer-Encoding: identity\r\n'],
    ['Transfer-Encoding: chunked, identity', 'Transfer-Encoding: chunked, identity\r\n'],
    ['Transfer-Encoding: gzip, chunked', 'Transfer-Encoding: gzip, chunked\r\n'],
    ['Transfer-Encoding: , chunked', 'Transfer-Encoding: , chunked\r\n'],
    ['two headers with Transfer-Encoding: chunked', HEADER.chunked + HEADER.chunked],
    ['Transfer-Encoding: identity, then chunked', `Transfer-Encoding: identity\r\n${HEADER.chunked}`],
    ['Transfer-Encoding: chunked, hidden after a CR without LF', 'X: y\rTransfer-Encoding: chunked\r\n'],
    ['Transfer-Encoding: chunked, hidden after an LF without CR', 'X: y\nTransfer-Encoding: chunked\r\n'],
  ])('if its length is ambiguous because it has %s', async (_, headers) => {
    await expectRefusal(post(headers) + CHUNKED_BODY);
  });

  test.each([
    ['two different lengths', `Content-Length: 0\r\nContent-Length: ${BODY.length}\r\n`],
    ['the same length twice', `Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length}\r\n`],
    ['the same length twice in one header', `Content-Length: ${BODY.length}, ${BODY.length}\r\n`],
    ['an empty Content-Length', 'Content-Length:\r\n'],
    ['a plus before the length', `Content-Length: +${BODY.length}\r\n`],
    ['a minus before the length', `Content-Length: -${BODY.length}\r\n`],
    ['a hexadecimal length', `Content-Length: 0x${HEX_SIZE}\r\n`],
    ['a length with a decimal point', `Content-Length: ${BODY.length}.0\r\n`],
    ['a space between the digits of the length', 'Content-Length: 2 9\r\n'],
    ['a NUL after the length', `Content-Length: ${BODY.length}\0\r\n`],
    // A parser that counts in 64 bits would take this number as the right length.
    ['the length of the body plus 2^64', `Content-Length: ${2n ** 64n + BigInt(BODY.length)}\r\n`],
    ['a space before the colon of Content-Length', `Content-Length : ${BODY.length}\r\n`],
    ['the value of Content-Length in the next line', `Content-Length:\r\n ${BODY.length}\r\n`],
  ])('if its length is ambiguous because it has %s', async (_, headers) => {
    await expectRefusal(post(headers) + BODY);
  });
});

const validPostHead = post(HEADER.sized);

test.each([
  ['LF without CR at the end of every line', validPostHead.replaceAll('\r\n', '\n')],
  ['LF without CR as the empty line after the headers', validPostHead.replace(/\r\n$/, '\n')],
  ['LF without CR between two headers', post(`X: y\n${HEADER.sized}`)],
  ['CR without LF at the end of every line', validPostHead.replaceAll('\r\n', '\r')],
  ['CR without LF inside a value', post(`X: y\rz\r\n${HEADER.sized}`)],
  ['a space before the first header', validPostHead.replace('Host', ' Host')],
  ['a header without a colon', post(`X\r\n${HEADER.sized}`)],
  ['a header without a name', post(`: y\r\n${HEADER.sized}`)],
  ['a name that is not a token', post(`X(y): z\r\n${HEADER.sized}`)],
  ['a folded value', post(`X: y\r\n z\r\n${HEADER.sized}`)],
  ['a NUL in a value', post(`X: y\0\r\n${HEADER.sized}`)],
  ['DEL in a value', post(`X: y\x7f\r\n${HEADER.sized}`)],
  ['a space after the version', validPostHead.replace('HTTP/1.1', 'HTTP/1.1 ')],
  ['a NUL in the target', validPostHead.replace('/v1/pets', '/v1/pets\0')],
  ['a byte of Latin-1 in the target', validPostHead.replace('/v1/pets', '/v1/pets\xe9')],
])('the service refuses a request with %s, and ignores the bytes after it', async (_, head) => {
  await expectRefusal(head + BODY);
});

test.each([
  // The chunk has 1d bytes in hexadecimal. A parser that counts in 64 bits would take this number as 1d.
  ['the size of the chunk plus 2^64', `1000000000000001d\r\n${BODY}\r\n0\r\n\r\n`],
  ['0x before the size', `0x${HEX_SIZE}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a minus before the size', `-${HEX_SIZE}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a plus before the size', `+${HEX_SIZE}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a size with a letter that is not hexadecimal', `${HEX_SIZE}g\r\n${BODY}\r\n0\r\n\r\n`],
  ['no size', `\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space before the size', ` ${HEX_SIZE}\r\n${BODY}\r\n0\r\n\r\n`],
  ['a space after the size', `${HEX_SIZE} \r\n${BODY}\r\n0\r\n\r\n`],
  ['LF without CR after the size', `${HEX_SIZE}\n${BODY}\r\n0\r\n\r\n`],
  ['CR without LF after the size', `${HEX_SIZE}\r${BODY}\r\n0\r\n\r\n`],
  ['no line end after the data', `${HEX_SIZE}\r\n${BODY}0\r\n\r\n`],
  ['LF without CR after the data', `${HEX_SIZE}\r\n${BODY}\n0\r\n\r\n`],
  ['LF without CR after the size of the last chunk', `${HEX_SIZE}\r\n${BODY}\r\n0\n\r\n`],
  ['LF without CR at the end of the body', `${HEX_SIZE}\r\n${BODY}\r\n0\r\n\n`],
  ['an extension without a name', `${HEX_SIZE};\r\n${BODY}\r\n0\r\n\r\n`],
  ['LF without CR in an extension', `${HEX_SIZE};a\n${BODY}\r\n0\r\n\r\n`],
  ['a NUL in an extension', `${HEX_SIZE};a\0\r\n${BODY}\r\n0\r\n\r\n`],
  ['Content-Length among the trailers', `${HEX_SIZE}\r\n${BODY}\r\n0\r\nContent-Length: 5\r\n\r\n`],
  ['Transfer-Encoding among the trailers', `${HEX_SIZE}\r\n${BODY}\r\n0\r\n${HEADER.chunked}\r\n`],
  ['a trailer that is not a header', `${HEX_SIZE}\r\n${BODY}\r\n0\r\nX y: z\r\n\r\n`],
  ['a folded trailer', `${HEX_SIZE}\r\n${BODY}\r\n0\r\nX: y\r\n z\r\n\r\n`],
])('the service refuses a chunked body with %s, and ignores the bytes after it', async (_, chunks) => {
  await expectRefusal(post(HEADER.chunked) + chunks);
});

const chunked = post(`${HEADER.chunked}Connection: keep-alive\r\n`) + CHUNKED_BODY;

test.each([
  ['a request in HTTP/1.0 with chunks', chunked.replace('HTTP/1.1', 'HTTP/1.0')],
  ['a request in HTTP/2.0 with a body', `${post(HEADER.sized).replace('HTTP/1.1', 'HTTP/2.0')}${BODY}`],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a request in HTTP/0.9, without a version', 'GET /livez\r\n\r\n'],
  ['a request in HTTP/0.9, with a version', 'GET /livez HTTP/0.9\r\nHost: x\r\n\r\n'],
  ['a request in HTTP/1.2', 'GET /livez HTTP/1.2\r\nHost: x\r\n\r\n'],
  ['a request in http/1.1, in lower case', 'GET /livez http/1.1\r\nHost: x\r\n\r\n'],
])('the service refuses %s, and ignores the bytes after it', async (_, bytes) => {
  await expectRefusal(bytes);
});
