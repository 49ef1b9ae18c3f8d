import { type Create, type History, type Request, type WantedPet, wantedPetsOf } from './history.ts';

/** Figures that are computed from a history. */
export type Figures = {
  /** The time in which the clients sent requests. */
  readonly loadMs: number;
  /** The number of all requests, with their retries. */
  readonly requests: number;
  /** The number of requests to add a pet, with their retries. */
  readonly attempts: number;
  /** `acknowledgedPets`, `refusedPets` and `unknownPets` count each pet once, even if its request was repeated. */
  readonly acknowledgedPets: number;
  readonly refusedPets: number;
  readonly unknownPets: number;
  /** Answers that the service repeated for a retry: the pet was already added by an earlier attempt. */
  readonly replayedAnswers: number;
  /** Reads of one pet that were answered with 200 or 404, and reads of a page that were answered with 200. */
  readonly answeredReads: number;
  /** Valid requests that were answered with a 4xx, and wrong requests with another answer than 400. */
  readonly wronglyBlamedRequests: number;
  /** Answers with a 5xx other than 503. */
  readonly other5xx: number;
  /** Answers with 503. */
  readonly answers503: number;
  /** Answers with 503 and without a number of seconds in `Retry-After`. */
  readonly answers503WithoutRetryAfter: number;
  /**
   * Requests whose status is not one that {@link isExpected} allows, or that were not answered. A refused connection is
   * not counted, because its request was never sent.
   */
  readonly failedRequests: number;
  /** The longest time in which no pet was acknowledged, while the clients sent requests. */
  readonly longestGapMs: number;
  /**
   * The 99th percentile of the time from the first attempt for a pet to its acknowledgement, in each phase. It is
   * `undefined` for a phase in which no pet was acknowledged. For the phases see {@link phaseOf}.
   */
  readonly p99Ms: Readonly<Record<Phase, number | undefined>>;
  /** The longest time from a request to its answer. */
  readonly slowestAnswerMs: number;
};

type Phase = 'before' | 'during' | 'after';

export function computeFigures(history: History): Figures {
  const requests = requestsOf(history);
  const attempts = requests.filter((request) => request.type === 'create');
  const wantedPets = wantedPetsOf(history);
  const requests503 = requests.filter(({ status }) => status === 503);
  const answered = requests.filter(({ status }) => status !== undefined);
  return {
    loadMs: history.endMs - history.beginMs,
    requests: requests.length,
    attempts: attempts.length,
    acknowledgedPets: count(wantedPets, ({ outcome }) => outcome === 'acknowledged'),
    refusedPets: count(wantedPets, ({ outcome }) => outcome === 'refused'),
    unknownPets: count(wantedPets, ({ outcome }) => outcome === 'unknown'),
    replayedAnswers: count(attempts, ({ replayed }) => replayed === true),
    answeredReads: count(requests, isAnsweredRead),
    wronglyBlamedRequests: count(requests, isWronglyBlamed),
    other5xx: count(requests, ({ status = 0 }) => status >= 500 && status !== 503),
    answers503: requests503.length,
    answers503WithoutRetryAfter: count(requests503, ({ retryAfter }) => !/^[1-9]\d*$/.test(retryAfter ?? '')),
    failedRequests: count(requests, (request) => !isExpected(request) && request.failure !== 'ECONNREFUSED'),
    longestGapMs: computeLongestGapMs(history),
    p99Ms: computeP99(wantedPets, history.fault),
    slowestAnswerMs: answered.reduce((longest, { beginMs, endMs }) => Math.max(longest, endMs - beginMs), 0),
  };
}

function computeLongestGapMs({ beginMs, endMs, calls }: History): number {
  const acknowledgementTimes = calls.filter(isAcknowledgement).map((create) => create.endMs);
  // A request that is running when the load ends may be acknowledged later. The gap before it counts, too.
  const times = [beginMs, ...acknowledgementTimes, Math.max(endMs, acknowledgementTimes.at(-1) ?? 0)];
  return times.slice(1).reduce((longest, time, index) => Math.max(longest, time - (times[index] ?? time)), 0);
}

export function requestsOf({ calls }: History): readonly Request[] {
  return calls.filter((call) => 'url' in call);
}

/** Whether the service may answer this request with this status. `checkHistory` checks the pets in the answer. */
function isExpected(request: Request): boolean {
  const { type, status, apiKey } = request;
  // A stored key may be revoked. `checkHistory` checks whether the key was valid when the service refused it.
  if (apiKey !== undefined && status === 401) return true;
  if (type === 'create') return status === 201;
  if (type === 'wrong') return status === 400;
  return status === 200 || (type === 'get' && status === 404);
}

function isWronglyBlamed(request: Request): boolean {
  const { type, status = 0 } = request;
  if (isExpected(request)) return false;
  return type === 'wrong' ? request.status !== undefined : status >= 400 && status < 500;
}

function isAnsweredRead({ type, status }: Request): boolean {
  return (type === 'page' && status === 200) || (type === 'get' && (status === 200 || status === 404));
}

function isAcknowledgement(call: History['calls'][number]): call is Create {
  return call.type === 'create' && call.outcome === 'acknowledged';
}

function computeP99(wantedPets: readonly WantedPet[], fault: History['fault']): Figures['p99Ms'] {
  const acknowledgedPets = wantedPets.filter(({ outcome }) => outcome === 'acknowledged');
  const byPhase = Map.groupBy(acknowledgedPets, (wantedPet) => phaseOf(wantedPet, fault));
  const p99 = (phase: Phase) => {
    const times = (byPhase.get(phase) ?? [])
      .map(({ beginMs, endMs }) => endMs - beginMs)
      .toSorted((a, b) => a - b);
    return times[Math.ceil(times.length * 0.99) - 1];
  };
  return { before: p99('before'), during: p99('during'), after: p99('after') };
}

/** The phase is `during` if the fault overlaps the time from the first attempt for the pet to the last answer. */
function phaseOf(wantedPet: WantedPet, fault: History['fault']): Phase {
  if (fault === undefined || wantedPet.endMs < fault.from) return 'before';
  return wantedPet.beginMs > fault.to ? 'after' : 'during';
}

function count<T>(items: readonly T[], isCounted: (item: T) => boolean): number {
  return items.filter(isCounted).length;
}
