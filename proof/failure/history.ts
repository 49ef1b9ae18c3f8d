import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * What a client knows about its request. Jepsen's distinction: a `refused` request certainly had no effect, an
 * `unknown` one could have had it. Never count one as the other.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** All times are from `performance.now()` of the one process that has all clients. */
type Interval = {
  /** Before the request was sent. */
  readonly beginMs: number;
  /** After the answer was read, or after the request failed. */
  readonly endMs: number;
};

/** One request, with everything that its client knows. Nothing in it was retried. */
export type SentRequest = Interval & {
  readonly url: string;
  /** The id of the API key. Absent for the key in `API_KEYS`, which is always valid. */
  readonly apiKey?: string;
  readonly outcome: Outcome;
  readonly status?: number;
  readonly retryAfter?: string;
  /** Why there is no status. */
  readonly failure?: string;
};

/** A request to add a pet. Retries are calls of their own, with the same `content`. */
export type Create = SentRequest & {
  readonly type: 'create';
  /** The JSON of the pet after its id, as every answer must show it. Its name makes it unique. */
  readonly content: string;
  readonly body: string;
  /** The Idempotency-Key. Without it, the request was sent once. */
  readonly idempotencyKey?: string;
  /** The body of a 201. */
  readonly answer?: string;
  /** Whether the 201 had `Idempotent-Replayed: true`. */
  readonly replayed?: boolean;
};

/** A request for one pet. Status 404 says that there is no such pet. */
export type Get = SentRequest & {
  readonly type: 'get';
  readonly id: number;
  /** The body of a 200. */
  readonly answer?: string;
};

/** A request for one page. The pages of a walk are calls of their own: each begins after the last id of the one before. */
export type Page = SentRequest & {
  readonly type: 'page';
  /** The last id that the walk has shown, 0 on its first page. */
  readonly after: number;
  readonly limit: number;
  readonly filter?: string;
  /** The JSON of each pet of a 200, in the bytes of the answer. */
  readonly pets?: readonly string[];
  /** Whether the answer linked to another page. */
  readonly hasNext?: boolean;
};

/** A request with a deliberately wrong body. */
export type Wrong = SentRequest & { readonly type: 'wrong' };

/** All pets in one place of the storage, read without the service. */
export type Survey = Interval & {
  readonly type: 'survey';
  readonly place: string;
  readonly pets: readonly string[];
};

/** A command of the operator. Only an acknowledged one has an effect that is known. */
export type KeyChange = Interval & {
  readonly type: 'key created' | 'key revoked';
  readonly apiKey: string;
  readonly outcome: Outcome;
};

export type Request = Create | Get | Page | Wrong;
export type Call = Request | Survey | KeyChange;

export type History = {
  readonly beginMs: number;
  /** When the clients were told to stop. */
  endMs: number;
  /** The time of the fault. */
  fault: { from: number; to: number } | undefined;
  /** In the order in which they ended. */
  readonly calls: Call[];
};

/** Writes a history as lines of JSON, for people. */
export async function writeHistory(path: string, { calls, ...rest }: History): Promise<void> {
  const file = createWriteStream(path);
  for (const entry of [rest, ...calls]) file.write(`${JSON.stringify(entry)}\n`);
  file.end();
  await finished(file);
}

/** A pet that a client wanted to add, with all attempts. */
export type WantedPet = Interval & { readonly attempts: readonly Create[]; readonly outcome: Outcome };

export function wantedPetsOf({ calls }: History): readonly WantedPet[] {
  const creates = calls.filter((call) => call.type === 'create');
  return [...Map.groupBy(creates, ({ content }) => content).values()].map((attempts) => ({
    attempts,
    beginMs: Math.min(...attempts.map(({ beginMs }) => beginMs)),
    endMs: Math.max(...attempts.map(({ endMs }) => endMs)),
    outcome: outcomeOf(attempts),
  }));
}

/** Any of the attempts may have stored the pet. */
function outcomeOf(attempts: readonly Create[]): Outcome {
  const outcomes = new Set(attempts.map(({ outcome }) => outcome));
  if (outcomes.has('acknowledged')) return 'acknowledged';
  return outcomes.has('unknown') ? 'unknown' : 'refused';
}
