import { expect, onTestFinished, test, vi } from 'vitest';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { HeldPetRepository, petBody } from '../../support/pets.ts';
import { list } from './raw-requests.ts';

const ID = { 'x-request-id': 'the-one' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KNOWN = { keyId: 'an-id', keyLabel: 'a label' };
const UNKNOWN = { keyId: undefined, keyLabel: undefined };
const ANONYMOUS = { authorization: undefined };

test.each([
  ['GET', 200, '/v1/pets?limit=5', {}, { route: '/v1/pets', ...KNOWN }],
  ['POST', 201, '/v1/pets', JSON_TYPE, { route: '/v1/pets', ...KNOWN }],
  ['POST', 400, '/v1/pets?x', JSON_TYPE, { route: '/v1/pets', ...KNOWN }],
  ['HEAD', 404, '/v1/pets/12345', {}, { route: '/v1/pets/:petId', ...KNOWN }],
  ['GET', 401, '/v1/pets', ANONYMOUS, { route: undefined, ...UNKNOWN }],
  ['GET', 404, '/v1/nothing', {}, { route: undefined, ...KNOWN }],
  ['PUT', 405, '/v1/pets', {}, { route: undefined, ...KNOWN }],
  ['GET', 200, '/livez', {}, { route: '/livez', ...UNKNOWN }],
  ['GET', 414, `/v1/pets?${'x'.repeat(8192)}`, {}, { route: undefined, ...UNKNOWN }],
])('a request has one record, after its answer: %s: %i', async (method, status, path, headers, expected) => {
  const tokens = keyWith({ id: KNOWN.keyId, label: KNOWN.keyLabel, originId: 'another-id' });
  await using api = await startApi({ tokens });
  const body = method === 'POST' ? { body: petBody() } : {};
  await api.request(method, path, { headers: { ...ID, ...headers }, ...body });
  expect(await api.log.record(0)).toStrictEqual({
    requestId: 'the-one',
    method,
    durationMs: expect.any(Number),
    status,
    client: status >= 400 ? '127.0.0.1' : undefined,
    aborted: undefined,
    ...expected,
  });
  await api.get('/livez');
  await api.log.record(1);
  expect(api.log.records).toHaveLength(2);
});

test('a request that is not valid HTTP/1.1 also has a record', async () => {
  await using api = await startApi({ trustProxy: true });
  const [answer] = await api.raw('GET / HTTP/2.0\r\nX-Forwarded-For: 192.0.2.66\r\n\r\n');
  expect(api.log.records).toStrictEqual([
    {
      requestId: answer?.headers['x-request-id'],
      method: 'GET',
      status: 400,
      // Never the forwarded one: a client may have smuggled the headers.
      client: '127.0.0.1',
    },
  ]);
});

const ZONE = `fe80::1%${'a'.repeat(4_000)}`;

test.each([
  ['that was forwarded', true, '192.0.2.1', '192.0.2.1'],
  ['that was forwarded: IPv6', true, '2001:db8::1', '2001:db8::1'],
  ['that the proxy has appended to what the client sent', true, '192.0.2.66, 192.0.2.1', '192.0.2.1'],
  ['that the proxy has added in a header of its own', true, ['192.0.2.66', '192.0.2.1'], '192.0.2.1'],
  ['that was forwarded, without its port', true, '203.0.113.7:51234', '203.0.113.7'],
  ['that was forwarded, without its port: IPv6', true, '[2001:db8::7]:51234', '2001:db8::7'],
  ['that was forwarded: IPv6 in brackets', true, '[2001:db8::7]', '2001:db8::7'],
  [
    'that was forwarded: IPv6 whose last part looks like a port',
    true,
    '2001:db8::7:5123',
    '2001:db8::7:5123',
  ],
  ['that was forwarded: IPv6 that means IPv4', true, '[::ffff:192.0.2.1]:80', '::ffff:192.0.2.1'],
  ['that was forwarded: IPv6 with a zone', true, '[fe80::1%eth0]:80', 'fe80::1%eth0'],
  ['that the proxy has appended with a port', true, '192.0.2.66:1, 192.0.2.1:2', '192.0.2.1'],
  ['of the connection, after a name with a port', true, 'evil.example:80', '127.0.0.1'],
  ['of the connection, after a port alone', true, ':80', '127.0.0.1'],
  ['of the connection, after an invalid address with a port', true, '203.0.113.700:80', '127.0.0.1'],
  ['of the connection, after brackets that do not close', true, '[2001:db8::7:80', '127.0.0.1'],
  ['of the connection, after a long zone in brackets', true, `[${ZONE}]:80`, '127.0.0.1'],
  ['of the connection, after a name', true, 'evil.example', '127.0.0.1'],
  ['of the connection, after no value', true, '192.0.2.66,', '127.0.0.1'],
  ['of the connection, after a long zone', true, ZONE, '127.0.0.1'],
  ['of the connection, without a trusted proxy', false, '192.0.2.66', '127.0.0.1'],
])('the logged client address of an error answer is the one %s', async (_, trustProxy, forwarded, client) => {
  await using api = await startApi({ trustProxy });
  await api.get('/nothing', { 'x-forwarded-for': forwarded });
  expect(await api.log.record(0)).toMatchObject({ status: 404, client });
});

test('a value of a trusted proxy that is no address is reported', async () => {
  await using api = await startApi({ trustProxy: true });
  for (const forwarded of [undefined, '', 'unknown, 192.0.2.1', '192.0.2.1:80', '[2001:db8::7]:80'])
    await api.get('/livez', { 'x-forwarded-for': forwarded });
  expect(api.log.connectionErrors).toStrictEqual([]);
  await api.get('/livez', { 'x-forwarded-for': '192.0.2.1, unknown' });
  expect(api.log.connectionErrors).toStrictEqual([{ kind: 'no-address-from-proxy' }]);
});

test('a forwarded value that is no address is not reported without a trusted proxy', async () => {
  await using api = await startApi();
  await api.get('/livez', { 'x-forwarded-for': 'unknown' });
  expect(api.log.connectionErrors).toStrictEqual([]);
});

test('the duration ends with the answer, and is in milliseconds with a precision of one microsecond', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  // The process is older than the request.
  vi.advanceTimersByTime(70_000);
  const pets = new HeldPetRepository();
  await using api = await startApi({ pets });
  const answer = api.get('/v1/pets');
  await pets.calls(1);
  vi.advanceTimersByTime(1_250.0006);
  pets.release();
  await answer;
  const { durationMs } = await api.log.record(0);
  vi.useRealTimers();
  expect(durationMs).toBe(1_250.001);
});

test('the record of a client that disconnects before its answer has no status', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ pets });
  const connection = await api.connect(list());
  await pets.calls(1);
  connection.abort();
  expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', status: undefined, aborted: true });
  pets.release();
  expect((await api.get('/v1/pets')).status).toBe(200);
  expect(api.log.failures).toStrictEqual([]);
});

test('no log line contains a key or a body', async () => {
  await using api = await startApi();
  await api.post(petBody({ name: '"hunter2"' }));
  await api.post('{"name": hunter2}');
  await api.post(Buffer.from('{"name":"hunter2\xff"}', 'latin1'));
  await api.post('hunter2', { 'content-encoding': 'hunter2' });
  await api.post(petBody({ categoryId: '"hunter2"' }));
  await api.get('/v1/pets?status=hunter2');
  await api.get('/v1/pets', { authorization: 'Bearer hunter2' });
  await api.get('/hunter2');
  await api.raw(`GET /v1/pets HTTP/1.1\r\nAuthorization: Bearer ${KEY}\r\nhunter2\r\n\r\n`);
  await api.log.record(8);
  const logged = JSON.stringify([api.log.records, api.log.failures]);
  expect(logged).not.toContain('hunter2');
  expect(logged).not.toContain(KEY);
});
