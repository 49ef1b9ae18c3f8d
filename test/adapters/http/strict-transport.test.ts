import { expect, test } from 'vitest';
import { startApi } from '../../support/http.ts';

type Options = NonNullable<Parameters<typeof startApi>[0]>;

const HEADER_NAME = 'strict-transport-security';
const ONE_YEAR = 'max-age=31536000';
const WITH_PUBLIC_URL: Options = { publicUrl: 'https://petstore.example/api' };
const FORWARDED_HEADERS = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'petstore.example' };

/** A row of the test: a request for this host to a service that speaks TLS. */
const overTls = (expected: string | undefined) => (host: string) =>
  [`over TLS to ${host}`, { speaksTls: true }, { host }, expected] as const;

test.each<readonly [string, Options, Record<string, string>, string | undefined]>([
  ...['petstore.example', 'localhost.example', 'mylocalhost:8443'].map(overTls(ONE_YEAR)),
  ...['LOCALHOST:3000', 'shop.localhost', 'localhost.', '127.1.2.3:1', '[::1]:3000'].map(overTls(undefined)),
  ['with a public URL of https', WITH_PUBLIC_URL, {}, ONE_YEAR],
  ['behind a trusted proxy that speaks TLS', { trustProxy: true }, FORWARDED_HEADERS, ONE_YEAR],
  ['with a public URL on this machine', { publicUrl: 'https://localhost:8443/api' }, {}, undefined],
  ['over plain HTTP', {}, { host: 'petstore.example', ...FORWARDED_HEADERS }, undefined],
  ['with a public URL of http', { publicUrl: 'http://petstore.example', speaksTls: true }, {}, undefined],
  ['behind a trusted proxy that speaks HTTP', { trustProxy: true }, { host: 'petstore.example' }, undefined],
])(
  'every answer has the right Strict-Transport-Security header, or none, %s',
  async (_, options, headers, expected) => {
    await using api = await startApi({ speaksTls: false, ...options });
    for (const [path, status] of [
      ['/v1/pets', 200],
      ['/v1/pets?x', 400],
      ['/docs', 200],
      ['/livez#', 400],
    ] as const) {
      const answer = await api.get(path, headers);
      expect([answer.status, answer.headers[HEADER_NAME]]).toStrictEqual([status, expected]);
    }
  },
);
