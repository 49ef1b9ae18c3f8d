import { describe, expect, it } from 'vitest';
import { ProgressReport } from '../../../src/main/command-line/progress-report.ts';

function report(output: { isTTY?: boolean; columns?: number }) {
  const said: string[] = [];
  let now = 0;
  const progress = new ProgressReport({ ...output, write: (text: string) => said.push(text) }, () => now);
  return {
    said,
    progress,
    at(ms: number, done: number, total: number | null = 1000, doing: 'writing' | 'checking' = 'writing') {
      now = ms;
      progress.update({ doing, done, total: total ?? undefined });
    },
  };
}

describe('elsewhere than on a terminal', () => {
  it('is a plain line every five seconds', () => {
    const { said, at, progress } = report({});
    for (let ms = 0; ms <= 11_000; ms += 500) at(ms, ms / 20);
    progress.clear();
    expect(said).toStrictEqual([
      'writing: 250 of 1000, 25 %, 50/s, 15 s left\n',
      'writing: 500 of 1000, 50 %, 50/s, 10 s left\n',
    ]);
  });

  it('says nothing of what is quickly done', () => {
    const { said, at } = report({});
    at(0, 500);
    at(4999, 1000);
    expect(said).toStrictEqual([]);
  });

  it('knows no end where there is none to be known', () => {
    const { said, at } = report({});
    at(0, 0, null, 'checking');
    at(5000, 100, null, 'checking');
    expect(said).toStrictEqual(['checking: 100, 20/s\n']);
  });

  it('begins a new rate with new work', () => {
    const { said, at } = report({});
    at(0, 0, null, 'checking');
    at(1000, 1_000_000, null, 'checking');
    at(1000, 400);
    at(6000, 500);
    expect(said).toStrictEqual(['writing: 500 of 1000, 50 %, 20/s, 25 s left\n']);
  });
});

describe('on a terminal', () => {
  it('is a bar that is written anew ten times a second', () => {
    const { said, at, progress } = report({ isTTY: true, columns: 200 });
    at(0, 0);
    at(50, 100);
    at(100, 500);
    at(199, 600);
    at(200, 1000);
    progress.clear();
    const line = (bar: string, text: string) => `\r\x1b[K${bar} ${text}`;
    expect(said).toStrictEqual([
      line('████████████░░░░░░░░░░░░', 'writing: 500 of 1000, 50 %, 5000/s, 1 s left'),
      line('████████████████████████', 'writing: 1000 of 1000, 100 %, 5000/s, 0 s left'),
      '\r\x1b[K',
    ]);
  });

  it('never needs a second line', () => {
    const { said, at } = report({ isTTY: true, columns: 30 });
    at(0, 0);
    at(100, 500);
    expect(said).toStrictEqual(['\r\x1b[K████████████░░░░░░░░░░░░ writ']);
  });

  it('tells long times in hours and minutes', () => {
    const { said, at } = report({ isTTY: true, columns: 200 });
    at(0, 0, 7260);
    at(1000, 1, 7261);
    at(2000, 2, 200);
    expect(said.map((text) => /[^,]+ left$/.exec(text)?.[0].trim())).toStrictEqual([
      '2 h 1 min left',
      '3 min 18 s left',
    ]);
  });
});
