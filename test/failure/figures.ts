import type { History } from './history.ts';

/** The figures of a history. `undefined` where nothing was measured. */
export type Figures = {
  /** Requests to add a pet, retries included. */
  readonly attempts: number;
  /** The next three count pets. */
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  /** Acknowledged with the pet of an earlier attempt. */
  readonly replayed: number;
  /** Valid requests with a 4xx answer, and wrong requests with any answer but 400. */
  readonly wronglyBlamed: number;
  /** 5xx other than 503. */
  readonly serverErrors: number;
  /** 503. */
  readonly unavailable: number;
  /** 503 without Retry-After. */
  readonly withoutRetryAfter: number;
  /** Acknowledged pets that a GET answered with 404. */
  readonly missing: number;
  /** Acknowledged pets that a GET answered with other bytes. */
  readonly different: number;
  /** Requests without the right answer. A refused connection does not count: the request was never sent. */
  readonly failedRequests: number;
  /** Between two acknowledgements, or one and the start or the end of the load. */
  readonly longestGapMs: number;
  /** From the first attempt to the acknowledgement. For the phases see {@link phaseOf}. */
  readonly p99Ms: Readonly<Record<Phase, number | undefined>>;
  readonly slowestAnswerMs: number;
};

type Phase = 'before' | 'during' | 'after';

export function figures(history: History): Figures {
  const { creates, gets, wrong } = history;
  const attempts = creates.flatMap((create) => create.attempts);
  const good = [...attempts, ...gets.filter(({ found }) => found !== 'missing')];
  const all = [...attempts, ...gets, ...wrong];
  const acknowledged = creates.filter(({ outcome }) => outcome === 'acknowledged');
  const unavailable = all.filter(({ status }) => status === 503);
  return {
    attempts: attempts.length,
    acknowledged: acknowledged.length,
    refused: count(creates, ({ outcome }) => outcome === 'refused'),
    unknown: count(creates, ({ outcome }) => outcome === 'unknown'),
    replayed: count(acknowledged, ({ replayed }) => replayed === true),
    wronglyBlamed:
      count(good, ({ status = 0 }) => status >= 400 && status < 500) +
      count(wrong, ({ status = 400 }) => status !== 400),
    serverErrors: count(all, ({ status = 0 }) => status >= 500 && status !== 503),
    unavailable: unavailable.length,
    withoutRetryAfter: count(unavailable, ({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? '')),
    missing: count(gets, ({ found }) => found === 'missing'),
    different: count(gets, ({ found }) => found === 'different'),
    failedRequests:
      count([...attempts, ...gets], ({ status }) => status === undefined || status >= 400) +
      count(wrong, ({ status }) => status !== 400) -
      count(all, ({ failure }) => failure === 'ECONNREFUSED'),
    longestGapMs: longestGapMs(history),
    p99Ms: percentiles(history),
    slowestAnswerMs: Math.max(
      0,
      ...all.filter(({ status }) => status !== undefined).map(({ begun, ended }) => ended - begun),
    ),
  };
}

export function longestGapMs({ begun, ended, creates }: History): number {
  const times = creates.filter(({ outcome }) => outcome === 'acknowledged').map((create) => create.ended);
  // Clients that were waiting at the end may have had their answer later.
  const until = Math.max(ended, ...times);
  const all = [begun, ...times, until].toSorted((a, b) => a - b);
  return Math.max(...all.slice(1).map((time, index) => time - (all[index] ?? time)));
}

function percentiles(history: History): Figures['p99Ms'] {
  const acknowledged = history.creates.filter(({ outcome }) => outcome === 'acknowledged');
  const byPhase = Map.groupBy(acknowledged, (create) => phaseOf(create, history.fault));
  const p99 = (phase: Phase) => {
    const times = (byPhase.get(phase) ?? [])
      .map(({ begun, ended }) => ended - begun)
      .toSorted((a, b) => a - b);
    return times[Math.ceil(times.length * 0.99) - 1];
  };
  return { before: p99('before'), during: p99('during'), after: p99('after') };
}

/** A request that the fault can have affected is `during`. */
function phaseOf(create: { readonly begun: number; readonly ended: number }, fault: History['fault']): Phase {
  if (fault === undefined || create.ended < fault.from) return 'before';
  return create.begun > fault.to ? 'after' : 'during';
}

function count<T>(all: readonly T[], is: (one: T) => boolean): number {
  return all.filter(is).length;
}
