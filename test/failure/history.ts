import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * What a client knows about its request. Jepsen's distinction: a `refused` request certainly had no effect, an
 * `unknown` one could have had it. Never count one as the other.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** One request. All times are from `performance.now()`. */
export type Attempt = {
  readonly begun: number;
  readonly ended: number;
  readonly url: string;
  readonly outcome: Outcome;
  readonly status?: number;
  readonly retryAfter?: string;
  /** Why there is no status. */
  readonly failure?: string;
};

/** A pet to add, with all attempts. */
export type Create = {
  readonly key: string;
  /** Contains the key, which identifies the pet wherever it is found. */
  readonly name: string;
  readonly body: string;
  readonly begun: number;
  ended: number;
  readonly attempts: Attempt[];
  outcome: Outcome;
  /** The body of the acknowledgement. */
  answer?: string;
  replayed?: boolean;
};

/** A request for an acknowledged pet. */
export type Get = Attempt & { readonly found: 'as acknowledged' | 'missing' | 'different' | 'no answer' };

export type History = {
  readonly begun: number;
  /** When the clients were told to stop. */
  ended: number;
  /** The time of the fault. */
  fault: { from: number; to: number } | undefined;
  readonly creates: Create[];
  readonly gets: Get[];
  /** Requests with a deliberately wrong body. */
  readonly wrong: Attempt[];
};

/** Writes a history as lines of JSON, in the order in which requests ended. */
export async function writeHistory(path: string, history: History): Promise<void> {
  const { creates, gets, wrong, ...rest } = history;
  const entries = [
    ...creates.map((entry) => ({ type: 'create', ...entry })),
    ...gets.map((entry) => ({ type: 'get', ...entry })),
    ...wrong.map((entry) => ({ type: 'wrong', ...entry })),
  ].toSorted((a, b) => a.ended - b.ended);
  const file = createWriteStream(path);
  for (const entry of [rest, ...entries]) file.write(`${JSON.stringify(entry)}\n`);
  file.end();
  await finished(file);
}
