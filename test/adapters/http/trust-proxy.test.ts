import { expect, test } from 'vitest';
import { invalid, brief } from '../../support/answer.ts';
import { type Api, KEY } from '../../support/http.ts';
import { apiWithPets } from './api-with-pets.ts';

const FORWARDED_HEADERS = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'petstore.example' };

/** Starts a service with two pets, so that a list with `limit=1` has a second page. */
const startWithTwoPets = (options: Parameters<typeof apiWithPets>[1]) => apiWithPets([{}, {}], options);

/** The base URLs in the two `Link` headers that have absolute URLs: the next page, and the deprecation of getPet. */
async function baseUrlsOf(api: Api, headers: Parameters<Api['get']>[1]): Promise<readonly unknown[]> {
  const next = await api.get('/v1/pets?limit=1', headers);
  const deprecation = await api.get('/v1/pets/1', headers);
  return [
    /^<(.*)\/v1\/pets\?limit=1&cursor=v1\.0{15}1>; rel="next"$/.exec(String(next.headers['link']))?.[1],
    /^<(.*)\/docs#getPet>; rel="deprecation"/.exec(String(deprecation.headers['link']))?.[1],
  ];
}

test.each([
  ['a scheme and a host', 'https', 'petstore.example', 'https://petstore.example'],
  ['a scheme in capitals', 'HTTPS', 'petstore.example', 'https://petstore.example'],
  ['a host that is an IPv6 address', 'https', '[2001:db8::1]:8443', 'https://[2001:db8::1]:8443'],
  // The last value comes from the trusted proxy. A client may have sent the earlier values.
  ['several values in one header', 'x,https', '<> , petstore.example', 'https://petstore.example'],
  ['several headers', ['http', 'https'], ['evil.example', 'petstore.example'], 'https://petstore.example'],
  ['a scheme and no host', 'https', undefined, 'https://a.example:81'],
  ['a host and no scheme', undefined, 'petstore.example', 'http://petstore.example'],
  ['nothing', undefined, undefined, 'http://a.example:81'],
  ['empty values', '', 'evil.example, ', 'http://a.example:81'],
])(
  'absolute URLs have the scheme and the host that a trusted proxy forwards, or else those of the request: the proxy forwards %s',
  async (_, proto, forwardedHost, base) => {
    await using api = await startWithTwoPets({ trustProxy: true });
    const forwarded = { 'x-forwarded-proto': proto, 'x-forwarded-host': forwardedHost };
    expect(await baseUrlsOf(api, { host: 'a.example:81', ...forwarded })).toStrictEqual([base, base]);
  },
);

test('absolute URLs begin with the host that a trusted proxy forwards, even if the request target has another host', async () => {
  await using api = await startWithTwoPets({ trustProxy: true });
  const [answer] = await api.raw(
    'GET http://target.example/v1/pets?limit=1 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n' +
      `Authorization: Bearer ${KEY}\r\nX-Forwarded-Host: petstore.example\r\n\r\n`,
  );
  expect(answer?.headers['link']).toMatch(/^<http:\/\/petstore\.example\/v1\/pets\?/);
});

const INVALID_PROTO = invalid('X-Forwarded-Proto must be http or https');
const INVALID_HOST = invalid('X-Forwarded-Host must be a host with an optional port');

// All forms of a host are tested in host.test.ts.
test.each([
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'ftp', INVALID_PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'xhttps', INVALID_PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-proto', 'https:', INVALID_PROTO],
  ['/v1/pets?limit=1', 'x-forwarded-host', 'a b', INVALID_HOST],
  ['/v1/pets?limit=1', 'x-forwarded-host', 'https://petstore.example', INVALID_HOST],
  // On this path, answers usually have a Link header with the host. The 400 must not have one.
  ['/v1/pets/1', 'x-forwarded-host', 'a>; rel="next"', INVALID_HOST],
])('an invalid value of a trusted proxy is refused: %s with %s: %s', async (path, name, value, expected) => {
  await using api = await startWithTwoPets({ trustProxy: true });
  expect(brief(await api.get(path, { ...FORWARDED_HEADERS, [name]: value }))).toStrictEqual(expected);
});

const INVALID_HEADERS = { 'x-forwarded-proto': 'ftp', 'x-forwarded-host': 'a>; rel="next"' };
const OTHER_HEADERS = {
  forwarded: 'proto=https;host=evil.example',
  'x-forwarded-port': '444',
  'x-forwarded-prefix': '/evil',
  'x-forwarded-server': 'evil.example',
  'x-original-host': 'evil.example',
};
const WITH_PUBLIC_URL = { trustProxy: true, publicUrl: 'https://public.example/api' };

test.each<readonly [string, Parameters<typeof startWithTwoPets>[0], Record<string, string>]>([
  ['forwarded values if no proxy is trusted', {}, FORWARDED_HEADERS],
  ['invalid forwarded values if no proxy is trusted', {}, INVALID_HEADERS],
  ['forwarded values if PUBLIC_URL is set', WITH_PUBLIC_URL, FORWARDED_HEADERS],
  ['invalid forwarded values if PUBLIC_URL is set', WITH_PUBLIC_URL, INVALID_HEADERS],
  ['other headers of a trusted proxy', { trustProxy: true }, OTHER_HEADERS],
])('the service ignores %s', async (_, options, headers) => {
  await using api = await startWithTwoPets(options);
  const { publicUrl = api.url } = options ?? {};
  expect(await baseUrlsOf(api, headers)).toStrictEqual([publicUrl, publicUrl]);
});
