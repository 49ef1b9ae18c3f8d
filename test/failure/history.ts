import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * What a client knows of what it asked for. Jepsen's distinction: `refused` is certain not to have been done, `unknown`
 * may have been done or not, and must never be counted as the other.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** One request. All times are of `performance.now()`. */
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

/** One pet to be added, with as many attempts as it took. */
export type Create = {
  readonly key: string;
  /** Holds the key, so that the pet can be told from all others wherever it is found. */
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

/** An acknowledged pet that was asked for. */
export type Get = Attempt & { readonly found: 'as acknowledged' | 'missing' | 'different' | 'no answer' };

export type History = {
  readonly begun: number;
  /** When the clients were told to come to an end. */
  ended: number;
  /** From when to when something was broken. */
  fault: { from: number; to: number } | undefined;
  readonly creates: Create[];
  readonly gets: Get[];
  /** Requests with a body that is wrong on purpose. */
  readonly wrong: Attempt[];
};

/** As lines of JSON, in the order in which they ended. */
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
