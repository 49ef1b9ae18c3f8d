import { expect, test } from 'vitest';
import { invalid, NOT_HTTP, brief } from '../../support/answer.ts';
import { type Api, KEY } from '../../support/http.ts';
import { apiWithPets } from './api-with-pets.ts';

const BAD_HOST = invalid('the request must have one valid Host header');

/** Requests the first of two pages, with one Host header per element of `hosts`. The bytes are Latin-1. */
async function listWith(api: Api, hosts: readonly string[], target = '/v1/pets?limit=1') {
  const hostLines = hosts.map((host) => `Host: ${host}\r\n`).join('');
  const otherLines = `Authorization: Bearer ${KEY}\r\nConnection: close\r\n\r\n`;
  return api.raw(Buffer.from(`GET ${target} HTTP/1.1\r\n${hostLines}${otherLines}`, 'latin1'));
}

test('a request in HTTP/1.1 must have exactly one Host header with one host', async () => {
  await using api = await apiWithPets([{}, {}]);
  for (const hosts of [[], [''], ['x', 'y'], ['x', 'x'], ['x, y']]) {
    expect((await listWith(api, hosts)).map(brief), String(hosts)).toStrictEqual([BAD_HOST]);
  }
  expect((await listWith(api, [], 'http://x/livez')).map(brief)).toStrictEqual([BAD_HOST]);
});

test('a Host is refused if it is neither a name nor an IP address, with or without a port', async () => {
  await using api = await apiWithPets([{}, {}]);
  const wrongNames = [
    'x"',
    'x>; rel="next"',
    'x y',
    'x?y',
    'x#y',
    'x\\y',
    'x/y',
    'a:b@c',
    'x%2f',
    'zo\xe9.example',
  ];
  const wrongPorts = ['x:100000', 'x:-1', 'x:1:2', 'x:y', 'x:'];
  const wrongAddresses = ['::1', '[fe80::1%25eth0]', '[::1', '[x"]'];
  for (const host of [...wrongNames, ...wrongPorts, ...wrongAddresses]) {
    expect((await listWith(api, [host])).map(brief), host).toStrictEqual([BAD_HOST]);
  }
  for (const host of ['x\ry', 'x\0', 'x\r\n y']) {
    expect((await listWith(api, [host])).map(brief), host).toStrictEqual([NOT_HTTP]);
  }
});

test('the link to the next page has the valid Host of the request', async () => {
  await using api = await apiWithPets([{}, {}]);
  const names = ['x', 'host', 'petstore.example', 'under_score', 'xn--zo-bja.example', 'x'.repeat(15_000)];
  for (const host of [...names, 'x:1', '127.0.0.1:80', '[::1]:80']) {
    const answers = await listWith(api, [host]);
    expect(answers.map(({ status, headers }) => [status, headers['link']])).toStrictEqual([
      [200, `<http://${host}/v1/pets?limit=1&cursor=v1.0000000000000001>; rel="next"`],
    ]);
  }
});
