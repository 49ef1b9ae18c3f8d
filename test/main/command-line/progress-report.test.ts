import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../support/fake-clock.ts';
import { ProgressReport } from '../../../src/main/command-line/progress-report.ts';

function report(output: { isTTY?: boolean; columns?: number }) {
  const shown: string[] = [];
  let now = 0;
  const progress = new ProgressReport({ ...output, write: (text: string) => shown.push(text) }, () => now);
  return {
    shown,
    progress,
    at(ms: number, done: number, total: number | null = 1000, doing: 'writing' | 'checking' = 'writing') {
      now = ms;
      progress.update({ doing, done, total: total ?? undefined });
    },
  };
}

describe('progress on any output but a terminal', () => {
  it('is a plain line every five seconds', () => {
    const { shown, at, progress } = report({});
    for (let ms = 0; ms <= 11_000; ms += 500) at(ms, ms / 20);
    progress.clear();
    expect(shown).toStrictEqual([
      'petstore: writing: 250 of 1000, 25 %, 50/s, 15s left\n',
      'petstore: writing: 500 of 1000, 50 %, 50/s, 10s left\n',
    ]);
  });

  it('is repeated every few seconds while the work reports nothing, until there is other output', () => {
    const clock = fakeClock('setInterval', 'clearInterval');
    const shown: string[] = [];
    const progress = new ProgressReport({ write: (text: string) => shown.push(text) });
    progress.start();
    clock.advance(9_999);
    expect(shown).toStrictEqual(['petstore: still working\n']);
    progress.update({ doing: 'writing', done: 3, total: 7 });
    clock.advance(5_001);
    progress.update({ doing: 'writing', done: 7, total: 7 });
    clock.advance(10_001);
    expect(shown.slice(1)).toStrictEqual([
      ...Array(2).fill('petstore: writing: 3 of 7, 42 %\n'),
      ...Array(2).fill('petstore: still working\n'),
    ]);
    progress.clear();
    clock.advance(60_000);
    expect(shown).toHaveLength(5);
  });

  it('has no remaining time if the total is unknown, and a new rate for each kind of work', () => {
    const { shown, at } = report({});
    at(0, 0, null, 'checking');
    at(4999, 90, null, 'checking');
    expect(shown).toStrictEqual([]);
    at(5000, 100, null, 'checking');
    at(5001, 1_000_000, null, 'checking');
    at(5001, 400);
    at(10_001, 500);
    expect(shown).toStrictEqual([
      'petstore: checking: 100, 20/s\n',
      'petstore: writing: 500 of 1000, 50 %, 20/s, 25s left\n',
    ]);
  });
});

describe('progress on a terminal', () => {
  it('is a bar that is redrawn ten times per second, and immediately when the work ends', () => {
    const { shown, at, progress } = report({ isTTY: true, columns: 200 });
    progress.clear();
    at(0, 0);
    at(50, 100);
    at(100, 500);
    at(199, 600);
    at(199, 1000);
    progress.clear();
    // There is no bar to remove.
    progress.clear();
    const line = (bar: string, text: string) => `\r\x1b[K${bar} ${text}`;
    expect(shown).toStrictEqual([
      line('████████████░░░░░░░░░░░░', 'writing: 500 of 1000, 50 %, 5000/s, 1s left'),
      '\r\x1b[Kstill working',
      '\r\x1b[K',
    ]);
  });

  it.each([
    ['stays on one line', 30, 'writ'],
    ['loses no character where the width is unknown', 0, 'writing: 500 of 1000, 50 %, 5000/s, 1s left'],
  ])('%s', (_what, columns, text) => {
    const { shown, at } = report({ isTTY: true, columns });
    at(0, 0);
    at(100, 500);
    expect(shown).toStrictEqual([`\r\x1b[K████████████░░░░░░░░░░░░ ${text}`]);
  });

  it('shows long times in hours and minutes', () => {
    const { shown, at } = report({ isTTY: true, columns: 200 });
    at(0, 0, 7260);
    at(1000, 1, 7261);
    at(2000, 2, 200);
    expect(shown.map((text) => /[^,]+ left$/.exec(text)?.[0].trim())).toStrictEqual([
      '2h 1m left',
      '3m 18s left',
    ]);
  });
});
