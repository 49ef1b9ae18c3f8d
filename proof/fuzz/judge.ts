import type { Answer } from '../../test/support/answer.ts';
import { expectConforms } from '../../test/support/conformance.ts';
import { parseAnswer } from '../../test/support/raw-connection.ts';
import { cursorId, expectedAnswer, type StoredPet } from './expected-answer.ts';
import { bytesOf, connectionsOf, type FuzzCase } from './fuzz-case.ts';
import { FUZZ_KEY, FUZZ_LIMITS, LINGER_MS } from './fuzz-limits.ts';
import type { ConnectionRecord } from './fuzz-client.ts';
import type { State } from '../states.ts';
import type { PetContent } from './read-pet.ts';
import { type ReadRequest, readRequests, type ReadStream } from './read-requests.ts';
import { parsePets } from './sane-client.ts';

export type Verdict = {
  /** The faults, one line each. Empty if every answer is right. */
  readonly problems: readonly string[];
  /** The pets that the requests may have added. */
  readonly newPets: readonly PetContent[];
  /** The pets in the answers with 201. */
  readonly acknowledgedPets: readonly StoredPet[];
  readonly answerCount: number;
  /** The rare states (see `states.ts`) that the case has reached. */
  readonly reachedStates: ReadonlySet<State>;
};

/** The rare state that an answer with this status shows. */
const STATE_BY_STATUS: ReadonlyMap<number, State> = new Map([
  [100, 'told-to-continue'],
  [201, 'pet-added'],
  [401, 'no-key'],
  [408, 'too-late'],
  [413, 'too-large'],
  [414, 'too-large'],
  [422, 'key-reused'],
  [431, 'too-large'],
]);

/** The rare states that a run of at least 10,000 requests must reach. */
export const FUZZ_STATES: readonly State[] = [
  ...new Set(STATE_BY_STATUS.values()),
  'replay',
  'no-http',
  'answered-in-order',
  'ignored-after-close',
];

/** Compares the answers on each connection with the answers that its requests must get. */
export function judge(fuzzCase: FuzzCase, records: ReadonlyMap<number, ConnectionRecord>): Verdict {
  const verdict = {
    problems: [] as string[],
    newPets: [] as PetContent[],
    acknowledgedPets: [] as StoredPet[],
    answerCount: 0,
    reachedStates: new Set<State>(),
  };
  for (const connection of connectionsOf(fuzzCase)) {
    const sentBytes = bytesOf(fuzzCase, connection);
    const stream = readRequests(sentBytes);
    const record = records.get(connection);
    if (record === undefined) throw new Error(`there is no record of connection ${connection}`);
    const judged = new JudgedConnection(sentBytes, stream, record);
    verdict.problems.push(...judged.problems.map((problem) => `connection ${connection}: ${problem}`));
    verdict.acknowledgedPets.push(...judged.acknowledgedPets);
    verdict.answerCount += judged.answerCount;
    for (const state of judged.reachedStates) verdict.reachedStates.add(state);
    verdict.newPets.push(...stream.requests.flatMap((each) => expectedAnswer(each, SERVICE).pet ?? []));
  }
  return verdict;
}

/**
 * This state has no pets. Several connections send at the same time, so the judge does not know which pets are stored.
 */
const SERVICE = { key: FUZZ_KEY } as const;

/** The message of an error names at most this many wrong parameters. */
const MAX_NAMED_PARAMETERS = 10;

/** The statuses of the answers to input that Node's parser or its timers refuse. */
const REFUSAL_STATUSES = [400, 408, 413, 414, 431];

/** A request id that the service has made itself: a UUID of version 4. */
const MADE_ID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

type ParsedAnswer = { readonly answer: Answer; readonly length: number; readonly method: string };

function parseAnswerTo(method: string, bytes: Buffer): ParsedAnswer | undefined {
  const parsed = parseAnswer(bytes, method);
  return parsed && { ...parsed, method };
}

class JudgedConnection {
  readonly problems: string[] = [];
  readonly acknowledgedPets: StoredPet[] = [];
  answerCount = 0;
  readonly reachedStates = new Set<State>();
  readonly #sentBytes: Buffer;
  readonly #stream: ReadStream;
  readonly #record: ConnectionRecord;
  /** The latest answer is `100 Continue`. */
  #isLatest100 = false;
  /** The latest answer has `Connection: close`, so no byte may follow. */
  #isClosing = false;

  constructor(sentBytes: Buffer, stream: ReadStream, record: ConnectionRecord) {
    this.#sentBytes = sentBytes;
    this.#stream = stream;
    this.#record = record;
    if (record.end === 'hangs') this.problems.push('the service does not close the connection');
    if (this.#readAnswers()) this.#checkMissingAnswers();
  }

  /** @returns whether all received bytes were read as answers */
  #readAnswers(): boolean {
    let { bytes } = this.#record;
    while (bytes.length > 0) {
      if (this.#isClosing) {
        this.problems.push(`bytes after "Connection: close": ${quoteBytes(bytes)}`);
        return false;
      }
      let parsed: ParsedAnswer | undefined;
      try {
        parsed = this.#parse(bytes);
      } catch (error) {
        this.problems.push(`${String(error)}: ${quoteBytes(bytes)}`);
        return false;
      }
      if (parsed === undefined) {
        if (this.#record.end === 'closed') this.problems.push(`an incomplete answer: ${quoteBytes(bytes)}`);
        return false;
      }
      this.#check(parsed.answer, parsed.method);
      bytes = bytes.subarray(parsed.length);
    }
    return true;
  }

  #parse(bytes: Buffer): ParsedAnswer | undefined {
    const request = this.#stream.requests[this.answerCount];
    if (request !== undefined && request.method !== 'HEAD') return parseAnswerTo(request.method, bytes);
    // The answer to a HEAD request has no body.
    const asHead = parseAnswerTo('HEAD', bytes);
    const hasNoBody =
      asHead !== undefined && /^(?:HTTP|$)/.test(bytes.toString('latin1', asHead.length, asHead.length + 4));
    if (hasNoBody || (request !== undefined && !request.isOdd && asHead?.answer.status !== 408))
      return asHead;
    // The service may refuse a HEAD request before it knows the method. The answer then has a body.
    return parseAnswerTo('', bytes);
  }

  #check(answer: Answer, method: string): void {
    const request = this.#stream.requests[this.answerCount];
    const { status } = answer;
    const state = STATE_BY_STATUS.get(status);
    if (state !== undefined) this.reachedStates.add(state);
    if (answer.headers['idempotent-replayed'] === 'true') this.reachedStates.add('replay');
    if (status === 100) {
      // The service may send 100 before it refuses a request with wrong framing. Such a request is in `restText`.
      const isExpected =
        request === undefined
          ? /\r\nexpect:[ \t]*100-continue/i.test(this.#stream.restText)
          : request.headers.some(([name]) => name === 'expect');
      if (!isExpected || this.#isLatest100) this.problems.push(`100 to ${nameOf(request)}`);
      this.#isLatest100 = true;
      return;
    }
    this.#isLatest100 = false;
    this.answerCount++;
    this.#isClosing = answer.headers['connection'] === 'close';
    const complain = (text: string) =>
      this.problems.push(`${nameOf(request)} was answered ${status} ${answer.body.slice(0, 300)}: ${text}`);
    try {
      expectConforms({ method, path: request?.target ?? '', ...answer });
    } catch (error) {
      complain(String(error));
      // The pets in a wrong body cannot be read.
      if (request !== undefined) return;
    }
    if (status >= 500) complain('the status is a 5xx');
    const isLate = status === 408 && this.#record.openMs >= FUZZ_LIMITS.headersTimeoutMs;
    if (status === 408 && !isLate) complain('the time limit was not over');
    if (!isLate && !this.#isExpectedId(request, String(answer.headers['x-request-id']))) {
      complain(`wrong X-Request-Id ${String(answer.headers['x-request-id'])}`);
    }
    if (this.answerCount > 1) this.reachedStates.add('answered-in-order');
    if (request === undefined) this.#checkRefusal(answer, complain);
    else this.#checkAnswer(request, answer, complain);
  }

  #isExpectedId(request: ReadRequest | undefined, id: string): boolean {
    if (request === undefined) return MADE_ID.test(id) || this.#sentBytes.includes(id);
    const ids = request.headers.filter(([name]) => name === 'x-request-id').map(([, value]) => value);
    const isValid = ids.length === 1 && /^[\w.-]{1,64}$/.test(ids[0] ?? '');
    if (isValid && id === ids[0]) return true;
    // The parser may refuse an odd request before the service knows its headers.
    return MADE_ID.test(id) && (!isValid || request.isOdd);
  }

  #checkRefusal({ status }: Answer, complain: (text: string) => void): void {
    const { rest } = this.#stream;
    // The service closes a connection with 408 if its first request never begins.
    const isSilent = status === 408 && this.#stream.requests.length === 0;
    if ((rest === 'nothing' && !isSilent) || rest === 'ignored') complain('no request is left to answer');
    if (!REFUSAL_STATUSES.includes(status)) complain('input that is not valid HTTP must be refused');
    if (!this.#isClosing) complain('the connection must close');
    this.reachedStates.add('no-http');
  }

  #checkAnswer(request: ReadRequest, answer: Answer, complain: (text: string) => void): void {
    const { status } = answer;
    const { method } = request;
    const isLate = status === 408;
    if (request.bodyState !== 'whole') {
      if (status === 201) complain(`the body is ${request.bodyState}`);
      return;
    }
    const isRefused = request.isOdd && this.#isClosing && REFUSAL_STATUSES.includes(status);
    if (isLate || isRefused) return;
    if (this.#isClosing ? request.closeRule === 'never' : request.closeRule === 'must') {
      complain(this.#isClosing ? 'the connection must stay open' : 'the connection must close');
    }
    const { statuses, code = '', names = [], pet } = expectedAnswer(request, SERVICE);
    if (statuses?.includes(status) === false) complain(`expected ${statuses.join(' or ')}`);
    else if (status < 400) this.#checkPets(request, answer, pet, complain);
    else if (method !== 'HEAD' && !isExpectedError(answer.body, code, names))
      complain(`expected ${code} ${names.join()}`);
  }

  #checkPets(
    { method, target }: ReadRequest,
    { status, body }: Answer,
    requested: PetContent | undefined,
    complain: (text: string) => void,
  ): void {
    if (method === 'HEAD' || !target.startsWith('/v1/pets') || (status !== 200 && status !== 201)) return;
    const pets = parsePets(body.startsWith('[') ? body : `[${body}]`);
    if (status === 201) {
      this.acknowledgedPets.push(...pets);
      if (pets[0] === undefined || requested === undefined || petText(pets[0]) !== petText(requested)) {
        complain(`expected the pet ${requested && petText(requested)}`);
      }
      return;
    }
    const query = new URLSearchParams(target.split('?')[1]);
    let lastId = cursorId(query.get('cursor'));
    const limit = target.startsWith('/v1/pets/') ? 1 : Number(query.get('limit') ?? 20);
    const filter = query.get('status');
    if (pets.length > limit) complain('the page is too long');
    for (const { id, status: petStatus } of pets) {
      if (id <= lastId) complain('the ids do not increase');
      if (filter !== null && petStatus !== filter) complain('a pet does not have the status of the query');
      lastId = id;
    }
    const id = /^\/v1\/pets\/(\d+)$/.exec(target)?.[1];
    if (id !== undefined && String(pets[0]?.id) !== id) complain('the id of the pet is not that of the path');
  }

  /** Reports that answers are missing. After `Connection: close`, no answer is missing. */
  #checkMissingAnswers(): void {
    const { requests, rest, restText } = this.#stream;
    if (this.#isClosing && this.answerCount < requests.length) this.reachedStates.add('ignored-after-close');
    if (this.#isClosing || this.#record.end !== 'closed') return;
    const expectedCount = requests.length + (rest === 'broken' || rest === 'incomplete' ? 1 : 0);
    // The service may close the connection of a slow client. If this resets the connection, answers may be lost.
    const { sendMs } = this.#record;
    const missingCount = expectedCount - this.answerCount;
    if (missingCount <= 0 || rest === 'tunnel' || sendMs >= FUZZ_LIMITS.headersTimeoutMs) return;
    if (missingCount === 1 && rest === 'broken' && sendMs >= LINGER_MS) return;
    const lastBodyState = requests.at(-1)?.bodyState;
    // A request that the client does not finish needs no answer.
    if (missingCount === 1 && (rest === 'incomplete' || lastBodyState === 'incomplete')) return;
    // The service may close the connection before the client has sent a broken body, or the bytes after the last
    // request. The client then fails to send, and cannot read the answer.
    if (lastBodyState === 'broken' || (rest === 'ignored' && restText !== '')) return;
    this.problems.push(
      `${this.answerCount} of ${expectedCount} answers: none to ${nameOf(requests[this.answerCount])} (after the requests: ${rest})`,
    );
  }
}

/** Whether an error has the expected code, where '' stands for any code, and a message with all `names`. */
function isExpectedError(body: string, expectedCode: string, names: readonly string[]): boolean {
  const { code, message } = JSON.parse(body) as { readonly code: string; readonly message: string };
  return (
    (expectedCode === '' || code === expectedCode) &&
    (names.length > MAX_NAMED_PARAMETERS || names.every((name) => message.includes(name)))
  );
}

/** The content of a pet as text. Equal texts mean equal content. */
export function petText({ name, categoryId, status }: PetContent): string {
  return JSON.stringify([name, String(categoryId), status]);
}

function nameOf(request: ReadRequest | undefined): string {
  return request === undefined
    ? 'input that is not a request'
    : `${request.method} ${request.target.slice(0, 200)}`;
}

function quoteBytes(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, 300));
}
