import { expect, onTestFinished, test, vi } from 'vitest';
import { KEY, keyWith, startApi } from '../../support/http.ts';
import { HeldPetRepository, petBody } from '../../support/pets.ts';
import { list } from './raw-requests.ts';

const REQUEST_ID = { 'x-request-id': 'the-one' };
const JSON_TYPE = { 'content-type': 'application/json' };
const KEY_FIELDS = { keyId: 'an-id', keyLabel: 'a label' };
const NO_KEY_FIELDS = { keyId: undefined, keyLabel: undefined };
const ANONYMOUS = { authorization: undefined };

test.each([
  ['GET', 200, '/v1/pets?limit=5', {}, { route: '/v1/pets', ...KEY_FIELDS }],
  ['POST', 201, '/v1/pets', JSON_TYPE, { route: '/v1/pets', ...KEY_FIELDS }],
  ['POST', 400, '/v1/pets?x', JSON_TYPE, { route: '/v1/pets', ...KEY_FIELDS }],
  ['HEAD', 404, '/v1/pets/12345', {}, { route: '/v1/pets/:petId', ...KEY_FIELDS }],
  ['GET', 401, '/v1/pets', ANONYMOUS, { route: undefined, ...NO_KEY_FIELDS }],
  ['GET', 404, '/v1/nothing', {}, { route: undefined, ...KEY_FIELDS }],
  ['PUT', 405, '/v1/pets', {}, { route: undefined, ...KEY_FIELDS }],
  ['GET', 200, '/livez', {}, { route: '/livez', ...NO_KEY_FIELDS }],
  ['GET', 414, `/v1/pets?${'x'.repeat(8192)}`, {}, { route: undefined, ...NO_KEY_FIELDS }],
])('a request has exactly one log record: %s with %i', async (method, status, path, headers, expected) => {
  const tokens = keyWith({ id: KEY_FIELDS.keyId, label: KEY_FIELDS.keyLabel, originId: 'another-id' });
  await using api = await startApi({ tokens });
  const body = method === 'POST' ? { body: petBody() } : {};
  await api.request(method, path, { headers: { ...REQUEST_ID, ...headers }, ...body });
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

test('a request that is not valid HTTP/1.1 has a log record', async () => {
  await using api = await startApi({ trustProxy: true });
  const [answer] = await api.raw('GET / HTTP/2.0\r\nX-Forwarded-For: 192.0.2.66\r\n\r\n');
  expect(api.log.records).toStrictEqual([
    {
      requestId: answer?.headers['x-request-id'],
      method: 'GET',
      status: 400,
      // Not the address in X-Forwarded-For, because a client may have smuggled these headers past the proxy.
      client: '127.0.0.1',
    },
  ]);
});

const ZONE = `fe80::1%${'a'.repeat(4_000)}`;

test.each([
  ['the forwarded address', true, '192.0.2.1', '192.0.2.1'],
  ['the forwarded IPv6 address', true, '2001:db8::1', '2001:db8::1'],
  ['the address that the proxy has appended', true, '192.0.2.66, 192.0.2.1', '192.0.2.1'],
  ['the address that the proxy has added in a second header', true, ['192.0.2.66', '192.0.2.1'], '192.0.2.1'],
  ['the forwarded address without its port', true, '203.0.113.7:51234', '203.0.113.7'],
  ['the forwarded IPv6 address without its port', true, '[2001:db8::7]:51234', '2001:db8::7'],
  ['the forwarded IPv6 address without its brackets', true, '[2001:db8::7]', '2001:db8::7'],
  [
    'the whole forwarded IPv6 address if its last part looks like a port',
    true,
    '2001:db8::7:5123',
    '2001:db8::7:5123',
  ],
  ['the forwarded IPv6 form of an IPv4 address', true, '[::ffff:192.0.2.1]:80', '::ffff:192.0.2.1'],
  ['the forwarded IPv6 address with its zone', true, '[fe80::1%eth0]:80', 'fe80::1%eth0'],
  ['the appended address without its port', true, '192.0.2.66:1, 192.0.2.1:2', '192.0.2.1'],
  ['the address of the connection if a name with a port is forwarded', true, 'evil.example:80', '127.0.0.1'],
  ['the address of the connection if only a port is forwarded', true, ':80', '127.0.0.1'],
  ['the address of the connection if the address is invalid', true, '203.0.113.700:80', '127.0.0.1'],
  ['the address of the connection if an opening bracket is not closed', true, '[2001:db8::7:80', '127.0.0.1'],
  ['the address of the connection if brackets have a long zone', true, `[${ZONE}]:80`, '127.0.0.1'],
  ['the address of the connection if a name is forwarded', true, 'evil.example', '127.0.0.1'],
  ['the address of the connection if the last forwarded value is empty', true, '192.0.2.66,', '127.0.0.1'],
  ['the address of the connection if a long zone is forwarded', true, ZONE, '127.0.0.1'],
  ['the address of the connection if no proxy is trusted', false, '192.0.2.66', '127.0.0.1'],
])('the logged client address of an error answer is %s', async (_, trustProxy, forwarded, client) => {
  await using api = await startApi({ trustProxy });
  await api.get('/nothing', { 'x-forwarded-for': forwarded });
  expect(await api.log.record(0)).toMatchObject({ status: 404, client });
});

test('X-Forwarded-For from a trusted proxy is reported if its last value is not an address', async () => {
  await using api = await startApi({ trustProxy: true });
  for (const forwarded of [undefined, '', 'unknown, 192.0.2.1', '192.0.2.1:80', '[2001:db8::7]:80'])
    await api.get('/livez', { 'x-forwarded-for': forwarded });
  expect(api.log.connectionErrors).toStrictEqual([]);
  await api.get('/livez', { 'x-forwarded-for': '192.0.2.1, unknown' });
  expect(api.log.connectionErrors).toStrictEqual([{ kind: 'no-address-from-proxy' }]);
});

test('X-Forwarded-For is not reported if no proxy is trusted', async () => {
  await using api = await startApi();
  await api.get('/livez', { 'x-forwarded-for': 'unknown' });
  expect(api.log.connectionErrors).toStrictEqual([]);
});

test('the logged duration ends with the answer, in milliseconds that are rounded to one microsecond', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  // The clock shows 70 s when the request begins. The duration must not contain these 70 s.
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

test('the log record of a request has no status if the client disconnects before the answer', async () => {
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
