import type { Figures } from './figures.ts';
import type { Result } from './scenario.ts';

type Column = readonly [title: string, cell: (runs: readonly Result[]) => string];

const sum = (what: (figures: Figures) => number): Column[1] => {
  return (runs) => {
    const measured = runs.flatMap(({ figures }) => (figures === undefined ? [] : [what(figures)]));
    return measured.length === 0 ? 'not measured' : `${measured.reduce((a, b) => a + b, 0)}`;
  };
};

const found = (what: 'lost' | 'duplicates' | 'idsTwice' | 'unknownFound'): Column[1] => {
  return (runs) => {
    const measured = runs.flatMap(({ verdict }) => (verdict === undefined ? [] : [verdict[what]]));
    return measured.length === 0 ? 'not measured' : `${measured.reduce((a, b) => a + b, 0)}`;
  };
};

const worst = (what: (figures: Figures) => number | undefined): Column[1] => {
  return (runs) => {
    const measured = runs.flatMap(({ figures }) => (figures && what(figures)) ?? []);
    return measured.length === 0 ? '–' : duration(Math.max(...measured));
  };
};

const COUNTS: readonly Column[] = [
  ['attempts', sum(({ attempts }) => attempts)],
  ['acknowledged', sum(({ acknowledged }) => acknowledged)],
  ['rejected', sum(({ refused }) => refused)],
  ['unknown', sum(({ unknown }) => unknown)],
  ['unknown and stored', found('unknownFound')],
  ['replayed', sum(({ replayed }) => replayed)],
  ['**lost**', found('lost')],
  ['**duplicates per key**', found('duplicates')],
  ['**ids twice**', found('idsTwice')],
  ['**wrongly blamed**', sum(({ wronglyBlamed }) => wronglyBlamed)],
  ['503', sum(({ unavailable }) => unavailable)],
  ['other 5xx', sum(({ serverErrors }) => serverErrors)],
];

const TIMES: readonly Column[] = [
  ['longest gap', worst(({ longestGapMs }) => longestGapMs)],
  ['p99 before', worst(({ p99Ms }) => p99Ms.before)],
  ['p99 during', worst(({ p99Ms }) => p99Ms.during)],
  ['p99 after', worst(({ p99Ms }) => p99Ms.after)],
  ['slowest answer', worst(({ slowestAnswerMs }) => slowestAnswerMs)],
];

/** The line on the terminal for one result. */
export function line({ scenario, figures, broken, leftOut }: Result, seconds: number): string {
  const state = leftOut !== undefined ? 'left out' : broken.length > 0 ? 'FAILED  ' : 'passed  ';
  const numbers =
    figures === undefined
      ? []
      : [`${figures.acknowledged} acknowledged`, `longest gap ${duration(figures.longestGapMs)}`];
  const text = [`${state}  ${scenario} (${[`${seconds.toFixed(1)} s`, ...numbers].join(', ')})`];
  return [
    ...text,
    ...broken.map((what) => `            ${what}`),
    ...(leftOut ? [`            ${leftOut}`] : []),
  ].join('\n');
}

/** The published tables in Markdown: one row for each scenario, over all repetitions. */
export function tables(results: readonly Result[]): string {
  const byScenario = [...Map.groupBy(results, ({ scenario }) => scenario)];
  const rows = (columns: readonly Column[]) => [
    ['scenario', ...columns.map(([title]) => title)],
    ...byScenario.map(([scenario, runs]) => [scenario, ...columns.map(([, cell]) => cell(runs))]),
  ];
  const bars = byScenario.flatMap(([scenario, runs]) => {
    const byFigure = Map.groupBy(
      runs.flatMap((run) => run.bars),
      ({ what }) => what,
    );
    return [...byFigure].map(([what, each]) => [
      scenario,
      what,
      each
        .map(({ value, atMost, unit }) => `${withUnit(value, unit)} (at most ${withUnit(atMost, unit)})`)
        .join('; '),
    ]);
  });
  const notes = results.flatMap(({ scenario, notes: all, leftOut, broken }) => [
    ...all.map((note) => `- ${scenario}: ${note}`),
    ...(leftOut === undefined ? [] : [`- ${scenario}: LEFT OUT, ${leftOut}`]),
    ...broken.map((what) => `- ${scenario}: FAILED, ${what}`),
  ]);
  return [
    '## Counts, summed over the repetitions',
    table(rows(COUNTS)),
    '## Times, the worst of the repetitions',
    table(rows(TIMES)),
    '## Figures of single scenarios, one for each repetition',
    table([['scenario', 'figure', 'measured, and bar'], ...bars]),
    '## Notes',
    [...new Set(notes)].join('\n'),
  ].join('\n\n');
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]) => `| ${row.join(' | ')} |`;
  return [cells(head), `|${head.map(() => '---|').join('')}`, ...rows.map(cells)].join('\n');
}

function withUnit(value: number, unit: string): string {
  if (unit === 'ms') return duration(value);
  return unit === '' ? `${value}` : `${value} ${unit}`;
}

function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
