import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { UpgradeOffer } from '../../../../src/adapters/http/server/upgrade-offer.ts';

const HEAD = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n';

/** Every way to cut a text into three portions, the first two of which may be empty. */
function* portionsOf(text: string): Generator<readonly Buffer[]> {
  for (let first = 0; first < text.length; first++) {
    for (let second = first; second < text.length; second++) {
      const portions = [text.slice(0, first), text.slice(first, second), text.slice(second)];
      yield portions.filter((portion) => portion !== '').map((portion) => Buffer.from(portion, 'latin1'));
    }
  }
}

describe('an offer to upgrade', () => {
  it.each([
    { name: 'without a body', headers: {}, head: HEAD, body: '', next: '' },
    { name: 'without a body, and bytes after it', headers: {}, head: HEAD, body: '', next: 'GET' },
    { name: 'with a body', headers: { 'content-length': '4' }, head: HEAD, body: '\r\n\r\n', next: '' },
    {
      name: 'with a body, and bytes after it',
      headers: { 'content-length': '4' },
      head: HEAD,
      body: 'abcd',
      next: '\r\nG',
    },
    {
      name: 'after an empty line',
      headers: { 'content-length': '2' },
      head: `\r\n${HEAD}`,
      body: 'ab',
      next: 'GET',
    },
    {
      name: 'after the end of another body and an empty line',
      headers: {},
      head: `a\n\r\n${HEAD}`,
      body: '',
      next: 'GET',
    },
  ])('$name: only what came together with its end is lost, however it is cut', (given) => {
    const headersEnd = given.head.length + 2;
    const offerEnd = headersEnd + given.body.length;
    const wrong: string[] = [];
    for (const portions of portionsOf(`${given.head}\r\n${given.body}${given.next}`)) {
      const offer = new UpgradeOffer();
      const request = new IncomingMessage(new Socket());
      request.headers = { connection: 'Upgrade', upgrade: 'h2c', ...given.headers };
      let position = 0;
      for (const portion of portions) {
        const begin = position;
        position += portion.length;
        request.complete = position >= offerEnd;
        const lost = offer.hasLost(portion, position >= headersEnd ? request : undefined, {
          isNew: begin < headersEnd && position >= headersEnd,
          isBetweenRequests: begin < headersEnd || begin >= offerEnd,
        });
        const expected = begin < offerEnd && position > offerEnd;
        if (lost !== expected) wrong.push(`${portions.join('|')}: ${lost} after ${position} bytes`);
      }
    }

    expect(wrong).toStrictEqual([]);
  });
});
