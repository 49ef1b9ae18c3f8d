import { test } from 'vitest';
import { OK, TOO_LARGE, UNAUTHENTICATED, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { post } from '../raw-requests.ts';

const MIB = 1024 * 1024;

// connection.test.ts has the numbers.
// 16 MiB in the service, and what the sockets of both sides hold: on Linux at most 6 MiB and 4 MiB.
const MAX_TAKEN_BYTES = 32 * MIB;
const block = Buffer.alloc(64 * 1024, 'x');
const chunk = Buffer.concat([Buffer.from('10000\r\n'), block, Buffer.from('\r\n')]);
const LENGTH = 'Content-Length: 1000000000000\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

test.concurrent.for([
  ['in chunks', post(CHUNKED), chunk, TOO_LARGE],
  ['in one chunk', `${post(CHUNKED)}fffffffffffffff\r\n`, block, TOO_LARGE],
  ['encoded', post(`Content-Encoding: gzip\r\n${CHUNKED}`), chunk, TOO_LARGE],
  ['without a key', `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${LENGTH}\r\n`, block, UNAUTHENTICATED],
] as const)(
  'an endless body is answered once and then no longer read: %s',
  async ([, head, bytes, expected], context) => {
    await using api = await startApi();
    const connection = await api.connect(head);
    let taken = 0;
    const send = async () => {
      for (; taken < 5 * MAX_TAKEN_BYTES; taken += bytes.length) await connection.send(bytes);
    };
    const sending = context.expect(send()).rejects.toBeInstanceOf(Error);
    context.expect(whole(await connection.answer())).toStrictEqual(expected);
    await connection.closed();
    await sending;
    context.expect(taken).toBeLessThan(MAX_TAKEN_BYTES);
    context.expect(whole(await api.get('/livez'))).toStrictEqual(OK);
    await api.log.record(1);
    context.expect(api.log.records).toHaveLength(2);
  },
);
