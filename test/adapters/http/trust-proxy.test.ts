import { expect, test } from 'vitest';
import { invalid, whole } from '../../support/answer.ts';
import { type Api, KEY } from '../../support/http.ts';
import { apiWithPets } from './api-with-pets.ts';

const FORWARDED = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'petstore.example' };

/** A service whose list has a second page. */
const start = (options: Parameters<typeof apiWithPets>[1]) => apiWithPets([{}, {}], options);

/** The bases of the absolute URLs in its answers. */
async function bases(api: Api, headers: Parameters<Api['get']>[1]): Promise<readonly unknown[]> {
  const next = await api.get('/v1/pets?limit=1', headers);
  const deprecation = await api.get('/v1/pets/1', headers);
  return [
    /^<(.*)\/v1\/pets\?limit=1&cursor=v1\.0{15}1>; rel="next"$/.exec(String(next.headers['link']))?.[1],
    /^<(.*)\/docs#getPet>; rel="deprecation"/.exec(String(deprecation.headers['link']))?.[1],
  ];
}

test.each([
  ['scheme and host', 'https', 'petstore.example', 'https://petstore.example'],
  ['capitals', 'HTTPS', 'petstore.example', 'https://petstore.example'],
  ['IPv6', 'https', '[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  // The last is of the proxy next to us. What comes before it may be of the client.
  ['several values', 'x,https', '<> , petstore.example', 'https://petstore.example'],
  ['several headers', ['http', 'https'], ['evil.example', 'petstore.example'], 'https://petstore.example'],
  ['the scheme alone', 'https', undefined, 'https://a.example:81'],
  ['the host alone', undefined, 'petstore.example', 'http://petstore.example'],
  ['nothing', undefined, undefined, 'http://a.example:81'],
  ['nothing, if the values are empty', '', 'evil.example, ', 'http://a.example:81'],
])(
  'absolute URLs begin with the values that a trusted proxy forwards: %s',
  async (_, proto, forwardedHost, base) => {
    await using api = await start({ trustProxy: true });
    const forwarded = { 'x-forwarded-proto': proto, 'x-forwarded-host': forwardedHost };
    expect(await bases(api, { host: 'a.example:81', ...forwarded })).toStrictEqual([base, base]);
  },
);

test('absolute URLs begin with the host that a trusted proxy forwards, whatever host the request target has', async () => {
  await using api = await start({ trustProxy: true });
  const [answer] = await api.raw(
    'GET http://target.example/v1/pets?limit=1 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n' +
      `Authorization: Bearer ${KEY}\r\nX-Forwarded-Host: petstore.example\r\n\r\n`,
  );
  expect(answer?.headers['link']).toMatch(/^<http:\/\/petstore\.example\/v1\/pets\?/);
});

const PROTO = invalid('X-Forwarded-Proto must be http or https');
const HOST = invalid('X-Forwarded-Host must be a host with an optional port');

// host.test.ts has every form of a host.
test.each([
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'ftp', PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'xhttps', PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'https:', PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-host', 'a b', HOST],
  ['/v1/pets?limit=1', 'x-forwarded-host', 'https://petstore.example', HOST],
  // The refusal would carry the value in a header.
  ['/v1/pets/1', 'x-forwarded-host', 'a>; rel="next"', HOST],
])('an invalid value from a trusted proxy is 400: %s with %s: %s', async (path, name, value, expected) => {
  await using api = await start({ trustProxy: true });
  expect(whole(await api.get(path, { ...FORWARDED, [name]: value }))).toStrictEqual(expected);
});

const WRONG = { 'x-forwarded-proto': 'ftp', 'x-forwarded-host': 'a>; rel="next"' };
const OTHERS = {
  forwarded: 'proto=https;host=evil.example',
  'x-forwarded-port': '444',
  'x-forwarded-prefix': '/evil',
  'x-forwarded-server': 'evil.example',
  'x-original-host': 'evil.example',
};
const PUBLIC = { trustProxy: true, publicUrl: 'https://public.example/api' };

test.each<readonly [string, Parameters<typeof start>[0], Record<string, string>]>([
  ['without a trusted proxy', {}, FORWARDED],
  ['without a trusted proxy, if they are invalid', {}, WRONG],
  ['with a public URL', PUBLIC, FORWARDED],
  ['with a public URL, if they are invalid', PUBLIC, WRONG],
  ['in other headers', { trustProxy: true }, OTHERS],
])('the forwarded values are ignored %s', async (_, options, headers) => {
  await using api = await start(options);
  const { publicUrl = api.url } = options ?? {};
  expect(await bases(api, headers)).toStrictEqual([publicUrl, publicUrl]);
});
