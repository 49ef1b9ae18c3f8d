import { describe, expect, it } from 'vitest';
import type { Progress } from '../../../src/application/ports/pet-archive.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { ProgressReport } from '../../../src/main/command-line/progress-report.ts';

/**
 * Makes a report with a clock that the test sets. `texts` are the outputs of the report. `updateAt` sets the clock, and
 * reports progress. A total of `null` is unknown.
 */
function makeReport(output: { isTTY?: boolean; columns?: number }) {
  const texts: string[] = [];
  let nowMs = 0;
  const progress = new ProgressReport({ ...output, write: (text: string) => texts.push(text) }, () => nowMs);
  return {
    texts,
    progress,
    updateAt(ms: number, done: number, total: number | null = 1000, doing: Progress['doing'] = 'writing') {
      nowMs = ms;
      progress.update({ doing, done, total: total ?? undefined });
    },
  };
}

describe('progress on an output that is not a terminal', () => {
  it('is printed as a plain line every five seconds', () => {
    const { texts, updateAt, progress } = makeReport({});
    for (let ms = 0; ms <= 11_000; ms += 500) updateAt(ms, ms / 20);
    progress.clear();
    expect(texts).toStrictEqual([
      'petstore: writing: 250 of 1000, 25 %, 50/s, 15s left\n',
      'petstore: writing: 500 of 1000, 50 %, 50/s, 10s left\n',
    ]);
  });

  it('is printed every five seconds even when no update comes, until clear() is called', () => {
    const clock = fakeClock('setInterval', 'clearInterval');
    const texts: string[] = [];
    const progress = new ProgressReport({ write: (text: string) => texts.push(text) });
    progress.start();
    clock.advance(9_999);
    expect(texts).toStrictEqual(['petstore: still working\n']);
    progress.update({ doing: 'writing', done: 3, total: 7 });
    clock.advance(5_001);
    progress.update({ doing: 'writing', done: 7, total: 7 });
    clock.advance(10_001);
    expect(texts.slice(1)).toStrictEqual([
      ...Array(2).fill('petstore: writing: 3 of 7, 42 %\n'),
      ...Array(2).fill('petstore: still working\n'),
    ]);
    progress.clear();
    clock.advance(60_000);
    expect(texts).toHaveLength(5);
  });

  it('shows no remaining time if the total is unknown, and a separate rate for each kind of work', () => {
    const { texts, updateAt } = makeReport({});
    updateAt(0, 0, null, 'checking');
    updateAt(4999, 90, null, 'checking');
    expect(texts).toStrictEqual([]);
    updateAt(5000, 100, null, 'checking');
    updateAt(5001, 1_000_000, null, 'checking');
    updateAt(5001, 400);
    updateAt(10_001, 500);
    expect(texts).toStrictEqual([
      'petstore: checking: 100, 20/s\n',
      'petstore: writing: 500 of 1000, 50 %, 20/s, 25s left\n',
    ]);
  });
});

describe('progress on a terminal', () => {
  it('is a bar that is redrawn at most every 100 ms, and is replaced by "still working" as soon as the work is complete', () => {
    const { texts, updateAt, progress } = makeReport({ isTTY: true, columns: 200 });
    // This call writes nothing, because the report has not yet drawn a bar.
    progress.clear();
    updateAt(0, 0);
    updateAt(50, 100);
    updateAt(100, 500);
    updateAt(199, 600);
    updateAt(199, 1000);
    progress.clear();
    // This call writes nothing, because the call before it has removed the bar.
    progress.clear();
    expect(texts).toStrictEqual([
      '\r\x1b[K████████████░░░░░░░░░░░░ writing: 500 of 1000, 50 %, 5000/s, 1s left',
      '\r\x1b[Kstill working',
      '\r\x1b[K',
    ]);
  });

  it.each([
    ['is cut to the width of the terminal', 30, 'writ'],
    ['is not cut when the width is unknown', 0, 'writing: 500 of 1000, 50 %, 5000/s, 1s left'],
  ])('%s', (_title, columns, shownText) => {
    const { texts, updateAt } = makeReport({ isTTY: true, columns });
    updateAt(0, 0);
    updateAt(100, 500);
    expect(texts).toStrictEqual([`\r\x1b[K████████████░░░░░░░░░░░░ ${shownText}`]);
  });

  it('shows the remaining time in hours, minutes and seconds', () => {
    const { texts, updateAt } = makeReport({ isTTY: true, columns: 200 });
    updateAt(0, 0, 7260);
    updateAt(1000, 1, 7261);
    updateAt(2000, 2, 200);
    expect(texts.map((text) => /[^,]+ left$/.exec(text)?.[0].trim())).toStrictEqual([
      '2h 1m left',
      '3m 18s left',
    ]);
  });
});
