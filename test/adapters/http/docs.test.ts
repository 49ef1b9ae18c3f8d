import { once } from 'node:events';
import fs from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { success, brief } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';

const NO_KEY = { authorization: undefined };
const BROWSER_HEADERS = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

/** The URLs of the files that the page at /docs loads. */
async function filesOfPage(api: Api): Promise<readonly string[]> {
  const { body } = await api.get('/docs', NO_KEY);
  return Array.from(body.matchAll(/(?:src|href)="(docs\/[^"]+)"/g), ([, url]) => `/${url}`);
}

/** Sends a request that accepts these content codings. Returns two headers of the answer and its bytes. */
async function fetchBytes(api: Api, path: string, codings: string) {
  const clientRequest = request(api.url + path, { headers: { 'accept-encoding': codings } }).end();
  const [response] = (await once(clientRequest, 'response')) as [IncomingMessage];
  const { 'content-encoding': coding, 'content-length': length } = response.headers;
  return { coding, length, bytes: await buffer(response) };
}

describe('/', () => {
  const addresses = (base: string) =>
    `{"api":"${base}/v1","docs":"${base}/docs","openapi":"${base}/openapi.json"}`;

  const PROGRAM_ACCEPT_HEADERS = ['*/*', 'text/html;q=0.5, application/json', 'text/plain', undefined];

  test('lists the addresses of the service for a program, and redirects a browser to /docs', async () => {
    await using api = await startApi();
    for (const accept of PROGRAM_ACCEPT_HEADERS) {
      const expected = success(200, addresses(api.url), { vary: 'Accept' });
      expect(brief(await api.get('/', { ...NO_KEY, accept }))).toStrictEqual(expected);
    }
    const expected = success(302, addresses(api.url), { vary: 'Accept', location: '/docs' });
    expect(brief(await api.get('/', { ...NO_KEY, ...BROWSER_HEADERS }))).toStrictEqual(expected);
  });

  test('redirects a browser to /api/docs if PUBLIC_URL has the path /api, and varies by Origin if the service allows CORS', async () => {
    const publicUrl = 'https://petstore.example/api';
    await using api = await startApi({ publicUrl, corsOrigins: ['https://shop.example'] });
    expect(brief(await api.get('/', BROWSER_HEADERS))).toStrictEqual(
      success(302, addresses(publicUrl), { vary: 'Origin, Accept', location: '/api/docs' }),
    );
  });
});

test('the service reads each file of the page at /docs only once for simultaneous requests, and reads it again after a failed read', async () => {
  const readFile = vi.spyOn(fs, 'readFile').mockRejectedValueOnce(new Error('EIO'));
  syncBuiltinESMExports();
  onTestFinished(() => {
    readFile.mockRestore();
    syncBuiltinESMExports();
  });
  await using api = await startApi();
  expect((await api.get('/docs')).status).toBe(500);
  readFile.mockClear();
  const paths = ['/docs', '/docs/docs.js', '/docs/swagger-ui-bundle.js', '/docs', '/docs'];
  const answers = await Promise.all(paths.map((path) => api.get(path)));
  expect(answers.map(({ status }) => status)).toStrictEqual([200, 200, 200, 200, 200]);
  // The page has four files and an HTML template.
  expect(readFile).toHaveBeenCalledTimes(5);
});

describe('/docs', () => {
  test('is a page that loads and runs only files of the service, by relative URLs', async () => {
    await using api = await startApi({ publicUrl: 'https://petstore.example/api' });
    const { status, headers, body } = await api.get('/docs', { ...NO_KEY, ...BROWSER_HEADERS });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      vary: 'Accept-Encoding',
    });
    expect(body).not.toMatch(/<script(?![^>]* src=")|<style| style=| on\w+=/);
    expect(body).toContain('<h3>Authentication</h3>');
    expect(body).toContain('<link rel="icon" href="data:image/svg+xml,%3Csvg%20');
    // All URLs are relative, because a proxy may serve the page at a longer path, such as /api/docs.
    const urls = Array.from(body.matchAll(/(?:src|href)="([^"]*)"/g), ([, url]) => url);
    expect(urls.length).toBeGreaterThan(5);
    expect(urls.filter((url) => !/^(docs\/|#|openapi\.json$|data:)/.test(url ?? ''))).toStrictEqual([]);
  });

  test('loads files that browsers may cache for a year, because the URL of each file has a hash of its content', async () => {
    await using api = await startApi();
    const files = await filesOfPage(api);
    expect(files.map((path) => path.split('?')[0])).toStrictEqual([
      '/docs/swagger-ui.css',
      '/docs/docs.css',
      '/docs/swagger-ui-bundle.js',
      '/docs/docs.js',
    ]);
    for (const path of files) {
      expect(path).toMatch(/\?[\w-]{12}$/);
      const { status, headers } = await api.get(path, NO_KEY);
      expect([status, headers['cache-control']]).toStrictEqual([200, 'public, max-age=31536000, immutable']);
      // A page of another release may ask for another hash, or for none. Browsers must not cache this answer.
      for (const url of [path.split('?')[0]!, `${path}x`]) {
        expect((await api.get(url)).headers['cache-control']).toBe('no-store');
      }
    }
  });

  test.each([
    ['gzip, deflate, br, zstd', 'gzip'],
    ['br', undefined],
    ['gzip;q=0', undefined],
  ])('answers "Accept-Encoding: %s" with this Content-Encoding: %s', async (codings, expected) => {
    await using api = await startApi();
    for (const path of ['/docs', ...(await filesOfPage(api))]) {
      const { body } = await api.get(path);
      const { coding, length, bytes } = await fetchBytes(api, path, codings);
      expect([coding, length]).toStrictEqual([expected, String(bytes.length)]);
      expect((coding === 'gzip' ? gunzipSync(bytes) : bytes).toString() === body, path).toBe(true);
    }
  });
});
