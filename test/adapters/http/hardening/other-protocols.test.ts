import { expect, test } from 'vitest';
import { CREATED, OK, problem, success, whole } from '../../../support/answer.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import { BODY, LENGTH, post, SMUGGLED } from './smuggled.ts';

const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n';

test('CONNECT after a slow request waits for its turn, and nothing after it is processed', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ pets });
  const connection = await api.connect();
  const list = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;
  await connection.send(`${list}CONNECT /livez HTTP/1.1\r\nHost: x\r\n\r\n${SMUGGLED}`);
  await pets.calls(1);
  pets.release();
  expect(whole(await connection.answer())).toStrictEqual(success(200, '[]'));
  const allow = 'GET, HEAD, OPTIONS';
  expect(whole(await connection.answer())).toStrictEqual(
    problem(405, 'METHOD_NOT_ALLOWED', `this path allows ${allow}`, { allow }),
  );
  await connection.closed();
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

test('an offer to upgrade whose body comes later is answered', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  for (const piece of [post(OFFER + LENGTH), BODY.slice(0, 5), BODY.slice(5)]) {
    await connection.send(piece);
    await api.get('/livez');
  }
  expect(whole(await connection.answer())).toStrictEqual(CREATED);
  await connection.closed();
});

// It would belong to the other protocol. Node drops what arrived together with the offer, so what comes later could
// begin in the middle of a request.
test('what arrives with an offer to upgrade is not processed, and the answer is the last', async () => {
  await using api = await startApi();
  const connection = await api.connect();
  await connection.send('GET /li');
  await api.get('/livez');
  const [head = '', body = ''] = SMUGGLED.split(/(?<=\r\n\r\n)/);
  await connection.send(`vez HTTP/1.1\r\nHost: x\r\n${OFFER}\r\n${head}`);
  await api.get('/livez');
  await connection.send(body + SMUGGLED);
  const answer = await connection.answer();
  expect(whole(answer)).toStrictEqual(OK);
  expect(answer.headers['connection']).toBe('close');
  await connection.closed();
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
