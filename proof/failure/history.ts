import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * What a client knows about its request. The service answered an `acknowledged` request with success. A `refused`
 * request certainly had no effect. An `unknown` request may have stored its pet. Jepsen, a tester of databases, also
 * distinguishes these three outcomes.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** The times come from `performance.now()`. All clients run in one process, so their times can be compared. */
type Interval = {
  /** A time before the request was sent. */
  readonly beginMs: number;
  /** A time after the answer was read, or after the request failed. */
  readonly endMs: number;
};

/** One request, and what its client knows about it. A retry is another request. */
export type SentRequest = Interval & {
  readonly url: string;
  /** The id of the stored API key. Absent if the client used the key in `API_KEYS`, which cannot be revoked. */
  readonly apiKey?: string;
  readonly outcome: Outcome;
  readonly status?: number;
  readonly retryAfter?: string;
  /** The error of a request that was not answered, such as `ECONNREFUSED`. */
  readonly failure?: string;
};

/** A request to add a pet. Each retry is another `Create` with the same `content`. */
export type Create = SentRequest & {
  readonly type: 'create';
  /** The end of the pet's JSON, after its id. Every answer must show this text. No two pets have the same name. */
  readonly content: string;
  /** The body of the request. */
  readonly body: string;
  /** The value of the header `Idempotency-Key`. Without it, the client retries only a refused connection. */
  readonly idempotencyKey?: string;
  /** The body of the answer, if its status is 201. */
  readonly answer?: string;
  /** Whether the answer with status 201 had the header `Idempotent-Replayed: true`. */
  readonly replayed?: boolean;
};

/** A request for one pet. The status 404 says that no pet has this id. */
export type Get = SentRequest & {
  readonly type: 'get';
  readonly id: number;
  /** The body of the answer, if its status is 200. */
  readonly answer?: string;
};

/** A request for one page of the list. A client that reads the whole list sends one request per page. */
export type Page = SentRequest & {
  readonly type: 'page';
  /** The page shows pets with greater ids than this id: the last id of the previous page, or 0 on the first page. */
  readonly after: number;
  readonly limit: number;
  readonly filter?: string;
  /** The JSON of each pet on the page, byte for byte. It is absent if the status is not 200. */
  readonly pets?: readonly string[];
  /** Whether the answer had a link to the next page. */
  readonly hasNext?: boolean;
};

/** A request with a deliberately wrong body. */
export type WrongRequest = SentRequest & { readonly type: 'wrong' };

/** All pets in one place of the storage (the file, or one member of the replica set), read without the service. */
export type Survey = Interval & {
  readonly type: 'survey';
  readonly place: string;
  readonly pets: readonly string[];
};

/** A command of the operator that creates or revokes an API key. The outcome of a failed command is `unknown`. */
export type KeyChange = Interval & {
  readonly type: 'key created' | 'key revoked';
  /** The id of the API key. */
  readonly apiKey: string;
  readonly outcome: Outcome;
};

export type Request = Create | Get | Page | WrongRequest;
/** Every entry of a history. */
export type Call = Request | Survey | KeyChange;

export type History = {
  readonly beginMs: number;
  /** When the clients were told to stop. */
  endMs: number;
  /** The time from the first to the last effect of the fault on the service. */
  fault: { from: number; to: number } | undefined;
  /** The calls in the order in which they ended. */
  readonly calls: Call[];
};

/** Writes a history to a file with one line of JSON per call, so that an engineer can find the cause of a failure. */
export async function writeHistory(path: string, { calls, ...rest }: History): Promise<void> {
  const file = createWriteStream(path);
  for (const entry of [rest, ...calls]) file.write(`${JSON.stringify(entry)}\n`);
  file.end();
  await finished(file);
}

/** A pet that a client wanted to add, and all requests for it: the first one and its retries. */
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

/** The outcome of all requests for one pet. It is `refused` only if none of these requests can have stored the pet. */
function outcomeOf(attempts: readonly Create[]): Outcome {
  const outcomes = new Set(attempts.map(({ outcome }) => outcome));
  if (outcomes.has('acknowledged')) return 'acknowledged';
  return outcomes.has('unknown') ? 'unknown' : 'refused';
}
