import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, describe, expect, onTestFinished, test, type TestContext } from 'vitest';
import { startChromium } from './chromium.ts';
import { ERRORS } from '../../src/adapters/http/contract/errors.ts';
import { type Api, startApi } from '../../test/support/http.ts';
import { ROOT } from '../../test/support/process.ts';

const LAPTOP = { width: 1366, height: 768 };
const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1920, height: 1080 };
const MAX = '9223372036854775807';

type ColorScheme = 'light' | 'dark';

let browser: Browser | undefined;

afterAll(async () => await browser?.close());

type StartedService = {
  readonly api: Api;
  /** The URL of the service for browsers. */
  readonly base: string;
};

async function start(publicUrl?: string): Promise<StartedService> {
  const api = await startApi({ publicUrl });
  onTestFinished(() => api.close());
  return { api, base: api.url };
}

/** Starts the service behind a proxy that adds a path to its URLs. */
async function startBelowPath(): Promise<StartedService> {
  const proxy = createServer(({ method, headers, url = '' }, outgoing) => {
    if (!url.startsWith('/shop/')) {
      outgoing.writeHead(404).end();
      return;
    }
    const path = url.slice('/shop'.length);
    const forwarded = httpRequest({ host: '127.0.0.1', port: api.port, method, headers, path });
    forwarded.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.end();
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/shop`;
  const api: Api = await startApi({ publicUrl: base });
  onTestFinished(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await api.close();
  });
  return { api, base };
}

type Visit = StartedService & {
  readonly page: Page;
  /** The errors and warnings in the console, such as violations of the Content-Security-Policy. */
  readonly problems: string[];
  /** The URLs of all requests. */
  readonly urls: string[];
  /** The number of bytes that the service has sent: headers and compressed bodies. */
  readonly transferred: () => Promise<number>;
};

type Options = {
  readonly path?: string;
  readonly viewport?: typeof LAPTOP;
  readonly colorScheme?: ColorScheme;
  readonly service?: () => Promise<StartedService>;
};

/** Starts a service, opens its docs page, and waits until the page shows the first operation. */
async function visit(
  context: TestContext,
  { path = '/docs', viewport = LAPTOP, colorScheme = 'light', service = start }: Options = {},
): Promise<Visit> {
  browser ??= await startChromium(context);
  const { api, base } = await service();
  const page = await browser.newPage({ viewport, colorScheme });
  page.setDefaultTimeout(0);
  onTestFinished(() => page.close());
  const problems: string[] = [];
  const urls: string[] = [];
  const sizes: Promise<number>[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('request', (request) => urls.push(request.url()));
  page.on('requestfinished', (request) => {
    const size = request.sizes().then((sent) => sent.responseHeadersSize + sent.responseBodySize);
    sizes.push(size);
  });
  await page.goto(base + path);
  await page.locator('#operations-animals-listPets').waitFor();
  const transferred = async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  return { api, base, page, problems, urls, transferred };
}

/** Expects that the console has no errors, and that the browser has sent requests only to the service. */
function expectNoProblems({ base, problems, urls }: Visit): void {
  expect(problems).toStrictEqual([]);
  expect(urls.filter((url) => !url.startsWith(`${base}/`) && !url.startsWith('data:'))).toStrictEqual([]);
}

/** Presses Tab until the element has the focus. */
async function tabTo(page: Page, selector: string, key = 'Tab'): Promise<void> {
  for (let presses = 0; presses < 200; presses++) {
    await page.keyboard.press(key);
    const found = await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`);
    if (found === true) return;
  }
  throw new Error(`no ${key} leads to ${selector}`);
}

async function press(page: Page, selector: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press('Enter');
}

/** Replaces the text of a field, with the keyboard. */
async function type(page: Page, selector: string, text: string): Promise<void> {
  await tabTo(page, selector);
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

const block = (operation: string) => `#operations-animals-${operation}`;

const KEY_FIELD = '#key';
const KEEP_BOX = '#keep-key';

/** Executes an operation with the keyboard. Returns the request and the answer, with the body as the page shows it. */
async function execute(page: Page, operation: string) {
  const [response] = await Promise.all([
    page.waitForResponse((answer) => answer.url().includes('/v1/pets')),
    press(page, `${block(operation)} .execute`),
  ]);
  const shown = page.locator(`${block(operation)} .live-responses-table .response`);
  await shown.locator('.response-col_status', { hasText: String(response.status()) }).waitFor();
  const [body = '', headers = ''] = await shown.locator('pre').allInnerTexts();
  const cursor = /next-cursor: (\S+)/.exec(headers)?.[1];
  return {
    status: response.status(),
    sent: response.request().postData(),
    url: response.url(),
    body,
    cursor,
  };
}

/** Types the API key. `keep` also ticks the box that keeps the key for the tab. */
async function authorize({ page, api }: Visit, keep = false): Promise<void> {
  await type(page, KEY_FIELD, ` ${api.key} `);
  if (!keep) return;
  await tabTo(page, KEEP_BOX);
  await page.keyboard.press('Space');
}

/** Returns every violation that axe-core finds, of any impact. */
async function findings(page: Page): Promise<readonly (readonly [string, readonly string[]])[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate("axe.run({ resultTypes: ['violations'] })")) as AxeResults;
  return violations.map(({ id, nodes }) => [
    id,
    nodes.map(({ html, target }) => `${target.join(' ')}: ${html.slice(0, 100)}`),
  ]);
}

/**
 * A program that runs in the page. The program returns the words that are broken into two lines, the texts that a
 * button covers, and the values that their fields cut off.
 */
const LAYOUT_PROBLEMS = `(() => {
  const problems = [];
  const lines = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    if (!texts.currentNode.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    // URLs are skipped, because a URL may be longer than a line.
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/https?:\\S+|\\w+/g)) {
      if (word.includes(':')) continue;
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (new Set(Array.from(range.getClientRects(), ({ top }) => top)).size > 1) problems.push('broken: ' + word);
    }
    range.selectNodeContents(texts.currentNode);
    lines.set(texts.currentNode, [...range.getClientRects()]);
  }
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  for (const button of shown('button')) {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const isUnder = (box) => box.left < right && box.right > left && box.top < bottom && box.bottom > top;
    for (const [text, boxes] of lines) {
      if (!button.contains(text) && boxes.some(isUnder)) problems.push('covered: ' + text.data);
    }
  }
  for (const select of shown('select')) {
    const whole = select.cloneNode(true);
    whole.style.cssText = 'position: absolute; min-width: 0; width: auto';
    select.after(whole);
    if (whole.offsetWidth > select.offsetWidth) problems.push('cut: ' + select.value);
    whole.remove();
  }
  for (const input of shown('input')) {
    if (input.scrollWidth > input.clientWidth) problems.push('cut: ' + input.value);
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth === clientWidth ? problems : [...problems, 'wider than the screen: ' + scrollWidth];
})()`;

/** Opens all folded parts of the operations that match the selector. */
async function unfold(page: Page, operations: string): Promise<void> {
  await page.evaluate(
    `document.querySelectorAll('${operations} details').forEach((each) => (each.open = true))`,
  );
}

/** A field and its value for each operation. */
const FIELDS = [
  ['listPets', '[data-param-name="limit"] input', '1'],
  ['createPet', '.body-param__text', '{"name":"Rex","categoryId":7}'],
  ['getPet', '[data-param-name="petId"] input', MAX],
] as const;

/** Waits for an expression. `waitForFunction` of Playwright uses `eval`, which the page's policy refuses. */
async function waitUntilTrue(page: Page, expression: string): Promise<void> {
  await expect.poll(() => page.evaluate(expression)).toBe(true);
}

/** Writes a screenshot for the README if `WRITE_SCREENSHOTS` is set. */
async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env['WRITE_SCREENSHOTS'] === undefined) return;
  const folder = join(ROOT, 'docs/screenshots');
  await mkdir(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

describe('the docs page in a browser', () => {
  test('can be used with the keyboard only: to authorize, create, list, page, get, and see an error', async (context) => {
    const visited = await visit(context);
    const { page } = visited;
    await authorize(visited);

    await press(page, `${block('createPet')} .opblock-summary-control`);
    for (const name of ['Rex', 'Mia']) {
      await type(page, `${block('createPet')} .body-param__text`, `{"name":"${name}","categoryId":${MAX}}`);
      const created = await execute(page, 'createPet');
      expect(created).toMatchObject({ status: 201, sent: `{"name":"${name}","categoryId":${MAX}}` });
      expect(created.body).toContain(`"categoryId": ${MAX},`);
      await tabTo(page, `${block('createPet')} .opblock-summary-control`, 'Shift+Tab');
    }
    await page.keyboard.press('Enter');

    await tabTo(page, `${block('listPets')} .opblock-summary-control`, 'Shift+Tab');
    await page.keyboard.press('Enter');
    await type(page, `${block('listPets')} [data-param-name="limit"] input`, '1');
    const first = await execute(page, 'listPets');
    expect(first).toMatchObject({ status: 200, cursor: 'v1.0000000000000001' });
    expect(first.body).toContain('"name": "Rex"');

    await tabTo(page, `${block('listPets')} .opblock-summary-control`, 'Shift+Tab');
    await type(page, `${block('listPets')} [data-param-name="cursor"] input`, first.cursor ?? '');
    const second = await execute(page, 'listPets');
    expect(second).toMatchObject({ status: 200, cursor: undefined });
    expect(second.body).toContain('"name": "Mia"');
    expect(second.body).toContain(`"categoryId": ${MAX},`);
    await page.locator(`${block('listPets')} .live-responses-table`).scrollIntoViewIfNeeded();
    await screenshot(page, 'docs-list');
    expectNoProblems(visited);

    await press(page, `${block('getPet')} .opblock-summary-control`);
    await type(page, `${block('getPet')} [data-param-name="petId"] input`, MAX);
    const missing = await execute(page, 'getPet');
    expect(missing).toMatchObject({ status: 404, url: `${visited.api.url}/v1/pets/${MAX}` });
    expect(missing.body).toContain('"code": "PET_NOT_FOUND"');
    // The browser itself logs the answer 404.
    expect(visited.problems.splice(0)).toStrictEqual([expect.stringContaining('404 (Not Found)')]);
    expectNoProblems(visited);
  });

  test('shows the operation or the section that the fragment of its URL names, also when the fragment changes', async (context) => {
    const visited = await visit(context, { path: '/docs#getPet' });
    const { page } = visited;
    const isInView = (element: string) => `Math.abs(${element}.getBoundingClientRect().top) < innerHeight`;
    await page.locator(`${block('getPet')} .execute`).waitFor();
    expect(await page.locator('.execute').count()).toBe(1);
    await waitUntilTrue(page, isInView(`document.querySelector('${block('getPet')}')`));
    await page.evaluate("location.hash = 'createPet'");
    await page.locator(`${block('createPet')} .execute`).waitFor();
    expectNoProblems(visited);

    const rules = await visit(context, { path: '/docs#errors' });
    await waitUntilTrue(rules.page, isInView("document.getElementById('errors')"));
    expect(await rules.page.locator('#errors h3').innerText()).toBe('Errors');
    expectNoProblems(rules);
  });

  test.for([
    ['below the path of PUBLIC_URL, behind a proxy', startBelowPath],
    ['that serves the page, even if PUBLIC_URL is another server', () => start('https://petstore.example')],
  ] as const)('calls the service %s, with a key that was typed early', async ([, service], context) => {
    const visited = await visit(context, { path: '/', service });
    const { api, page, base } = visited;
    expect(page.url()).toBe(`${base}/docs`);
    // The key is typed before the page has the OpenAPI document.
    const typeEarly = () => page.locator(KEY_FIELD).fill(api.key);
    await page.route('**/openapi.json', (route) => typeEarly().then(() => route.continue()));
    await page.reload();
    await page.locator(block('listPets')).waitFor();
    await press(page, `${block('listPets')} .opblock-summary-control`);
    await type(page, `${block('listPets')} [data-param-name="limit"] input`, '1');
    expect(await execute(page, 'listPets')).toMatchObject({
      status: 200,
      url: `${base}/v1/pets?limit=1&cursor=v1.0000000000000000`,
    });
    expectNoProblems(visited);
  });

  test('shows the first operation without scrolling on a laptop, in less than 1.5 MB', async (context) => {
    const visited = await visit(context);
    const box = await visited.page.locator(block('listPets')).boundingBox();
    expect(box!.y + box!.height).toBeLessThan(LAPTOP.height);
    expect(await visited.transferred()).toBeLessThan(1_500_000);
    expectNoProblems(visited);
  });

  test.for([
    ['phone', PHONE],
    ['laptop', LAPTOP],
    ['wide screen', WIDE],
  ] as const)('fits a %s: no text is broken, cut off or covered', async ([, viewport], context) => {
    const visited = await visit(context, { viewport });
    const { page } = visited;
    expect(await page.evaluate(LAYOUT_PROBLEMS)).toStrictEqual([]);
    await authorize(visited);
    for (const [operation, field, value] of FIELDS) {
      await press(page, `${block(operation)} .opblock-summary-control`);
      await type(page, `${block(operation)} ${field}`, value);
      await execute(page, operation);
      const answer = (await page.locator(`${block(operation)} .live-responses-table`).boundingBox())!;
      expect(answer.x > viewport.width / 2).toBe(viewport !== PHONE);
    }
    await unfold(page, '.opblock');
    expect(await page.evaluate(LAYOUT_PROBLEMS)).toStrictEqual([]);
  });

  test('shows the whole path of each operation, and which operation is deprecated', async (context) => {
    const { page } = await visit(context);
    expect(await page.locator('.opblock-summary-control').allInnerTexts()).toStrictEqual([
      'GET\n/v1/pets\nList animals',
      'POST\n/v1/pets\nAdd an animal',
      'GET\n/v1/pets/{petId}\nGet an animal (deprecated)',
    ]);
  });

  test('folds the errors of an operation into one line, and shows their codes when it is opened', async (context) => {
    const { page } = await visit(context, { path: '/docs#getPet' });
    const summary = page.locator(`${block('getPet')} summary`, { hasText: 'Errors' });
    const error = page.locator(`${block('getPet')} [data-code="404"]`);
    await summary.waitFor();
    expect(await summary.innerText()).toMatch(/^Errors: 400, 401, 403, 404, 405, .*, 503$/);
    expect(await error.isVisible()).toBe(false);
    await press(page, `${block('getPet')} details:has(.errors) summary`);
    expect(await error.innerText()).toMatch(
      /^404\s+PET_NOT_FOUND: No animal has this id\.\s+no pet has the id 42$/,
    );
  });

  test('has tables with every scope, every limit and every error code', async (context) => {
    const visited = await visit(context);
    const rows = (table: string) => visited.page.locator(`#${table}-rows tr`).allInnerTexts();
    expect(await rows('scope')).toStrictEqual([
      'pets:read\tList animals, Get an animal',
      'pets:write\tAdd an animal',
    ]);
    expect(await rows('limit')).toStrictEqual([
      '408\tThe headers took more than 10 s to arrive, or the request more than 30 s.',
      '413\tThe body is larger than 65536 bytes.',
      '414\tThe URL is longer than 8192 bytes.',
      '431\tThe request line and headers are larger than 16384 bytes.',
    ]);
    const codes = (await rows('error')).map((row) => row.split('\t'));
    expect(new Set(codes.map(([status, code]) => `${code} ${status}`))).toStrictEqual(
      new Set(Object.entries(ERRORS).map(([code, [status]]) => `${code} ${status}`)),
    );
    expect(codes.every(([, , meaning = '']) => /^[A-Z].*\.$/.test(meaning))).toBe(true);
    expectNoProblems(visited);
  });

  test.for([
    ['forgets the key when it is loaded again', false],
    ['keeps the key for the tab if the box is ticked', true],
  ] as const)('%s', async ([, keep], context) => {
    const visited = await visit(context, { path: '/docs#listPets' });
    const { page, api } = visited;
    await authorize(visited, keep);
    const stored = () => page.evaluate('[...Object.values(sessionStorage), ...Object.values(localStorage)]');
    expect(await stored()).toStrictEqual(keep ? [api.key] : []);
    await page.reload();
    await page.locator(`${block('listPets')} .execute`).waitFor();
    expect((await execute(page, 'listPets')).status).toBe(keep ? 200 : 401);
    if (!keep) return;
    await tabTo(page, KEEP_BOX, 'Shift+Tab');
    await page.keyboard.press('Space');
    expect(await stored()).toStrictEqual([]);
    expect((await execute(page, 'listPets')).status).toBe(200);
    await page.locator(KEY_FIELD).fill('');
    expect((await execute(page, 'listPets')).status).toBe(401);
  });

  test.for([
    ['light', 'laptop', LAPTOP, 1050, 'rgb(255, 255, 255)'],
    ['dark', 'laptop', LAPTOP, 1050, 'rgb(28, 32, 34)'],
    ['light', 'phone', PHONE, 2400, 'rgb(255, 255, 255)'],
    ['dark', 'phone', PHONE, 2400, 'rgb(28, 32, 34)'],
  ] as const)('has the colours of the system, and axe finds nothing: %s, on a %s', async (row, context) => {
    const [colorScheme, , viewport, maxHeight, background] = row;
    const visited = await visit(context, { colorScheme, viewport });
    const { page } = visited;
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(background);
    expect(await findings(page)).toStrictEqual([]);
    if (viewport === LAPTOP) await screenshot(page, `docs-${colorScheme}`);
    await authorize(visited);
    for (const [operation, field, value] of FIELDS) {
      await press(page, `${block(operation)} .opblock-summary-control`);
      await type(page, `${block(operation)} ${field}`, value);
      await execute(page, operation);
      const { height } = (await page.locator(block(operation)).boundingBox())!;
      expect(height).toBeLessThan(maxHeight);
    }
    // Only one operation is unfolded, because axe is slow: it reads every cell.
    await unfold(page, block('getPet'));
    expect(await findings(page)).toStrictEqual([]);
  });
});
