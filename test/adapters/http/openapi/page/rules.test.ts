import { describe, expect, it } from 'vitest';
import { ERROR_STATUS } from '../../../../../src/adapters/http/wire/errors.ts';
import { SERVER_LIMITS } from '../../../../../src/adapters/http/server/limits.ts';
import {
  MAX_BODY_BYTES,
  MAX_HEADERS_BYTES,
  MAX_REQUEST_ID_LENGTH,
  MAX_URL_BYTES,
} from '../../../../../src/adapters/http/wire/limits.ts';
import { SCOPES } from '../../../../../src/domain/api-key.ts';
import { INT64_MAX, INT64_MIN } from '../../../../../src/domain/pet.ts';
import { rulesOfPage } from '../../../../support/rules-of-page.ts';

const rules = await rulesOfPage();

const row = (...cells: readonly string[]) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;

describe('the rules on the page', () => {
  it('have a section for each subject', () => {
    const sections = Array.from(
      rules.matchAll(/<section id="([\w-]+)"><h3>.+?<\/h3><(?:p|ul|table)>/g),
      ([, id]) => id,
    );
    expect(sections).toEqual([
      'authentication',
      'requests',
      'limits',
      'rate-limits',
      'browsers',
      'answers',
      'errors',
      'compatibility',
    ]);
  });

  it.each([
    ['Scope', 'For'],
    ['What', 'Maximum', 'Otherwise'],
    ['Status', 'Code', 'Meaning'],
  ])('have a table with the head %s', (...head) => {
    const cells = head.map((cell) => `<th>${cell}</th>`).join('');
    expect(rules).toContain(`<table><thead><tr>${cells}</tr></thead><tbody><tr><td>`);
  });

  it('are those of the limits', () => {
    expect(rules).toContain(row('URL', `${MAX_URL_BYTES / 1024} KiB`, '<code>414</code>'));
    expect(rules).toContain(
      row('Request line and headers', `${MAX_HEADERS_BYTES / 1024} KiB`, '<code>431</code>'),
    );
    expect(rules).toContain(
      row('Body, as sent and after decompression', `${MAX_BODY_BYTES / 1024} KiB`, '<code>413</code>'),
    );
    const { headersTimeoutMs, requestTimeoutMs } = SERVER_LIMITS;
    for (const [what, timeoutMs] of [
      ['last header', headersTimeoutMs],
      ['whole request', requestTimeoutMs],
    ] as const) {
      expect(rules).toContain(
        row(`Time until the ${what} has arrived`, `${timeoutMs / 1000} s`, '<code>408</code>'),
      );
    }
  });

  it('are those of integers and of request ids', () => {
    expect(rules).toContain(`exact from ${INT64_MIN} to ${INT64_MAX}.`);
    expect(rules).toContain(
      `<code>X-Request-Id</code>: 1 to ${MAX_REQUEST_ID_LENGTH} of the characters <code>A-Z a-z 0-9 _ . -</code>.`,
    );
  });

  it('are whole sentences', () => {
    const texts = Array.from(rules.matchAll(/<(p|li)>(.*?)<\/\1>/g), ([, , text]) => text);
    expect(texts.length).toBeGreaterThan(10);
    for (const text of texts) expect(text).toMatch(/^(?:<code>)?[A-Z].*[.:]$/);
  });

  it.each(SCOPES)('name the scope %s', (scope) => {
    expect(rules).toMatch(new RegExp(`<tr><td><code>${scope}</code></td><td>[^<]+</td></tr>`));
  });

  it.each(Object.entries(ERROR_STATUS))('name the code %s', (code, status) => {
    expect(rules).toMatch(new RegExp(`<tr><td>${status}</td><td><code>${code}</code></td><td>.+</td></tr>`));
  });

  it('say that a misspelt field is accepted', () => {
    expect(rules).toContain('a misspelt <code>status</code> is not an error');
  });

  it('escape what is not HTML', () => {
    expect(rules).toContain('<code>Authorization: Bearer &lt;API_KEY></code>');
    expect(rules).not.toMatch(/`|<API/);
  });
});
