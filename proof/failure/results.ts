import { describeStates, noteReached, type Reached } from '../states.ts';
import { FAILURE_STATES } from './reached-states.ts';
import type { Verdict } from './check-history.ts';
import type { Figures } from './figures.ts';
import type { Result } from './scenario.ts';
import type { Rule } from './violation.ts';

/** What was checked in all histories together. */
export function totals(results: readonly Result[]): {
  /** For which clients sent requests, summed over the histories. Scenarios that ran at once count one by one. */
  readonly minutes: number;
  readonly requests: number;
  readonly violations: number;
} {
  const add = (of: (result: Result) => number | undefined) =>
    results.reduce((sum, result) => sum + (of(result) ?? 0), 0);
  return {
    minutes: add(({ figures }) => figures?.loadMs) / 60_000,
    requests: add(({ figures }) => figures?.requests),
    violations: add(({ verdict }) => verdict?.violations.length),
  };
}

type Column = readonly [title: string, cell: (runs: readonly Result[]) => string];

const added = (what: (result: Result) => number | undefined): Column[1] => {
  return (runs) => {
    const measured = runs.flatMap((run) => what(run) ?? []);
    return measured.length === 0 ? 'not measured' : `${measured.reduce((a, b) => a + b, 0)}`;
  };
};

const sum = (what: (figures: Figures) => number) => added(({ figures }) => figures && what(figures));
const decided = (what: (verdict: Verdict) => number) => added(({ verdict }) => verdict && what(verdict));

const violations = (...rules: readonly Rule[]): Column[1] =>
  decided((verdict) => verdict.violations.filter(({ rule }) => rules.includes(rule)).length);

const worst = (what: (figures: Figures) => number | undefined): Column[1] => {
  return (runs) => {
    const measured = runs.flatMap(({ figures }) => (figures && what(figures)) ?? []);
    return measured.length === 0 ? '–' : duration(Math.max(...measured));
  };
};

const COUNTS: readonly Column[] = [
  ['runs', (runs) => `${runs.length}`],
  ['attempts', sum(({ attempts }) => attempts)],
  ['acknowledged', sum(({ acknowledged }) => acknowledged)],
  ['rejected', sum(({ refused }) => refused)],
  ['unknown', sum(({ unknown }) => unknown)],
  ['unknown and stored', decided(({ unknownFound }) => unknownFound)],
  ['replayed', sum(({ replayed }) => replayed)],
  ['reads', sum(({ reads }) => reads)],
  ['**lost**', violations('lost')],
  ['**missed**', violations('missed')],
  ['**second pets**', violations('second pet')],
  ['**ids**', violations('id twice', 'id order')],
  ['**keys**', violations('revoked key accepted', 'valid key refused')],
  ['**other**', violations('unrequested', 'wrong answer', 'wrong page')],
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
        .toSorted((a, b) => b.value - b.atMost - (a.value - a.atMost))
        .slice(0, 1)
        .map(({ value, atMost, unit }) => `${withUnit(value, unit)} (at most ${withUnit(atMost, unit)})`)
        .join(''),
    ]);
  });
  const states: Reached = new Map();
  for (const [number, { reached }] of results.entries()) noteReached(states, reached, number + 1);
  const notes = results.flatMap(({ scenario, notes: all, leftOut, broken }) => [
    ...all.map((note) => `- ${scenario}: ${note}`),
    ...(leftOut === undefined ? [] : [`- ${scenario}: LEFT OUT, ${leftOut}`]),
    ...broken.map((what) => `- ${scenario}: FAILED, ${what}`),
  ]);
  return [
    '## Rare states, and how many scenarios reached them',
    `\`\`\`\n${describeStates(FAILURE_STATES, states)}\n\`\`\``,
    '## Counts, summed over the repetitions',
    table(rows(COUNTS)),
    '## Times, the worst of the repetitions',
    table(rows(TIMES)),
    '## Figures of single scenarios, the worst of the repetitions',
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
