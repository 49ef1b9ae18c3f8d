import { quantile, summary } from '../support/statistics.ts';

/** One measurement of one contestant. */
export type Sample = {
  readonly contestant: string;
  readonly workload: string;
  readonly round: number;
  /** CPU time of the server process a request, in microseconds. */
  readonly cpuUs: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

export type StoreResult = {
  readonly name: string;
  readonly connections: number;
  readonly samples: readonly Sample[];
};

export type Figure = Exclude<keyof Sample, 'contestant' | 'workload' | 'round'>;

/** One figure a round, in the order of the rounds. */
export function figures(
  { samples }: StoreResult,
  contestant: string,
  workload: string,
  figure: Figure,
): readonly number[] {
  return samples
    .filter((sample) => sample.contestant === contestant && sample.workload === workload)
    .map((sample) => sample[figure]);
}

/** `a / b`, round by round. */
export function ratios(a: readonly number[], b: readonly number[]): readonly number[] {
  return a.map((value, round) => value / b[round]!);
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median, and the quartiles when there are enough rounds for them. */
export function spread(values: readonly number[], digits: number): string {
  return values.length < 3 ? median(values).toFixed(digits) : summary(values, digits, [0.25, 0.75]);
}
