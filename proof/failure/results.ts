import { describeStates, noteReached, type ReachedStates } from '../states.ts';
import { FAILURE_STATES } from './reached-states.ts';
import type { Verdict } from './check-history.ts';
import type { Figures } from './figures.ts';
import type { Result } from './scenario.ts';
import type { Rule } from './violation.ts';

/** Computes sums over all histories. */
export function computeTotals(results: readonly Result[]): {
  /** The time in which clients sent requests. Scenarios that ran at the same time are added up. */
  readonly minutes: number;
  readonly requests: number;
  readonly violations: number;
} {
  const sumOf = (of: (result: Result) => number | undefined) =>
    results.reduce((sum, result) => sum + (of(result) ?? 0), 0);
  return {
    minutes: sumOf(({ figures }) => figures?.loadMs) / 60_000,
    requests: sumOf(({ figures }) => figures?.requests),
    violations: sumOf(({ verdict }) => verdict?.violations.length),
  };
}

type Column = readonly [title: string, cell: (runs: readonly Result[]) => string];

const sumColumn = (what: (result: Result) => number | undefined): Column[1] => {
  return (runs) => {
    const values = runs.flatMap((run) => what(run) ?? []);
    return values.length === 0 ? 'not measured' : `${values.reduce((a, b) => a + b, 0)}`;
  };
};

const figureSum = (of: (figures: Figures) => number) => sumColumn(({ figures }) => figures && of(figures));
const verdictSum = (of: (verdict: Verdict) => number) => sumColumn(({ verdict }) => verdict && of(verdict));

const violationCount = (...rules: readonly Rule[]): Column[1] =>
  verdictSum((verdict) => verdict.violations.filter(({ rule }) => rules.includes(rule)).length);

const longestTime = (what: (figures: Figures) => number | undefined): Column[1] => {
  return (runs) => {
    const values = runs.flatMap(({ figures }) => (figures && what(figures)) ?? []);
    return values.length === 0 ? '–' : formatDuration(Math.max(...values));
  };
};

const COUNTS: readonly Column[] = [
  ['runs', (runs) => `${runs.length}`],
  ['attempts', figureSum(({ attempts }) => attempts)],
  ['acknowledged', figureSum(({ acknowledgedPets }) => acknowledgedPets)],
  ['rejected', figureSum(({ refusedPets }) => refusedPets)],
  ['unknown', figureSum(({ unknownPets }) => unknownPets)],
  ['unknown and stored', verdictSum(({ foundUnknownCount }) => foundUnknownCount)],
  ['replayed', figureSum(({ replayedAnswers }) => replayedAnswers)],
  ['reads', figureSum(({ answeredReads }) => answeredReads)],
  ['**lost**', violationCount('lost')],
  ['**missed**', violationCount('missed')],
  ['**second pets**', violationCount('second pet')],
  ['**ids**', violationCount('id twice', 'id order')],
  ['**keys**', violationCount('revoked key accepted', 'valid key refused')],
  ['**other**', violationCount('unrequested', 'wrong answer', 'wrong page')],
  ['**wrongly blamed**', figureSum(({ wronglyBlamedRequests }) => wronglyBlamedRequests)],
  ['503', figureSum(({ answers503 }) => answers503)],
  ['other 5xx', figureSum(({ other5xx }) => other5xx)],
];

const TIMES: readonly Column[] = [
  ['longest gap', longestTime(({ longestGapMs }) => longestGapMs)],
  ['p99 before', longestTime(({ p99Ms }) => p99Ms.before)],
  ['p99 during', longestTime(({ p99Ms }) => p99Ms.during)],
  ['p99 after', longestTime(({ p99Ms }) => p99Ms.after)],
  ['slowest answer', longestTime(({ slowestAnswerMs }) => slowestAnswerMs)],
];

/** The text on the terminal for one result. Each failure has its own line. */
export function describeResult({ scenario, figures, failures, skipReason }: Result, seconds: number): string {
  const state = skipReason !== undefined ? 'left out' : failures.length > 0 ? 'FAILED  ' : 'passed  ';
  const numbers =
    figures === undefined
      ? []
      : [`${figures.acknowledgedPets} acknowledged`, `longest gap ${formatDuration(figures.longestGapMs)}`];
  const text = [`${state}  ${scenario} (${[`${seconds.toFixed(1)} s`, ...numbers].join(', ')})`];
  return [
    ...text,
    ...failures.map((what) => `            ${what}`),
    ...(skipReason ? [`            ${skipReason}`] : []),
  ].join('\n');
}

/** The tables of `results.md`. Each table has one row per scenario for all of its repetitions. */
export function formatTables(results: readonly Result[]): string {
  const byScenario = [...Map.groupBy(results, ({ scenario }) => scenario)];
  const rows = (columns: readonly Column[]) => [
    ['scenario', ...columns.map(([title]) => title)],
    ...byScenario.map(([scenario, runs]) => [scenario, ...columns.map(([, cell]) => cell(runs))]),
  ];
  const figureRows = byScenario.flatMap(([scenario, runs]) => {
    const byName = Map.groupBy(
      runs.flatMap((run) => run.boundedFigures),
      ({ what }) => what,
    );
    return [...byName].map(([what, sameFigures]) => [
      scenario,
      what,
      // The figure of the repetition that was worst compared with its limit.
      sameFigures
        .toSorted((a, b) => b.value - b.atMost - (a.value - a.atMost))
        .slice(0, 1)
        .map(({ value, atMost, unit }) => `${withUnit(value, unit)} (at most ${withUnit(atMost, unit)})`)
        .join(''),
    ]);
  });
  const states: ReachedStates = new Map();
  for (const [number, { reachedStates }] of results.entries()) noteReached(states, reachedStates, number + 1);
  const notes = results.flatMap(({ scenario, notes: scenarioNotes, skipReason, failures }) => [
    ...scenarioNotes.map((note) => `- ${scenario}: ${note}`),
    ...(skipReason === undefined ? [] : [`- ${scenario}: LEFT OUT, ${skipReason}`]),
    ...failures.map((what) => `- ${scenario}: FAILED, ${what}`),
  ]);
  return [
    '## Rare states, and how many scenarios reached them',
    `\`\`\`\n${describeStates(FAILURE_STATES, states)}\n\`\`\``,
    '## Counts, summed over the repetitions',
    formatTable(rows(COUNTS)),
    '## Times, the worst of the repetitions',
    formatTable(rows(TIMES)),
    '## Figures of single scenarios, the worst of the repetitions',
    formatTable([['scenario', 'figure', 'measured value and limit'], ...figureRows]),
    '## Notes',
    [...new Set(notes)].join('\n'),
  ].join('\n\n');
}

function formatTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]) => `| ${row.join(' | ')} |`;
  return [cells(head), `|${head.map(() => '---|').join('')}`, ...rows.map(cells)].join('\n');
}

function withUnit(value: number, unit: string): string {
  if (unit === 'ms') return formatDuration(value);
  return unit === '' ? `${value}` : `${value} ${unit}`;
}

function formatDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
