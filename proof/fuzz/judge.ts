import type { Answer } from '../../test/support/answer.ts';
import { expectConforms } from '../../test/support/conformance.ts';
import { parseAnswer } from '../../test/support/raw-connection.ts';
import { cursorId, expectedAnswer, type StoredPet } from './expected-answer.ts';
import { bytesOf, connectionsOf, type FuzzCase } from './fuzz-case.ts';
import { FUZZ_KEY, FUZZ_LIMITS, LINGER_MS } from './fuzz-limits.ts';
import type { Seen } from './fuzz-client.ts';
import type { State } from '../states.ts';
import type { WantedPet } from './read-pet.ts';
import { type ReadRequest, readRequests, type ReadStream } from './read-requests.ts';
import { parsePets } from './sane-client.ts';

export type Verdict = {
  /** What is wrong, one line each. */
  readonly problems: readonly string[];
  /** The pets that the requests may have added. */
  readonly wanted: readonly WantedPet[];
  /** The pets that were answered 201. */
  readonly acknowledged: readonly StoredPet[];
  readonly answers: number;
  /** The rare states that the case has reached. */
  readonly reached: ReadonlySet<State>;
};

/** The states of which a status tells. */
const TOLD: ReadonlyMap<number, State> = new Map([
  [100, 'told-to-continue'],
  [201, 'pet-added'],
  [401, 'no-key'],
  [408, 'too-late'],
  [413, 'too-large'],
  [414, 'too-large'],
  [422, 'key-reused'],
  [431, 'too-large'],
]);

/** The states that a full run must reach. */
export const FUZZ_STATES: readonly State[] = [
  ...new Set(TOLD.values()),
  'replay',
  'no-http',
  'answered-in-order',
  'ignored-after-close',
];

/** Compares what every connection received with what was due. */
export function judge(fuzzCase: FuzzCase, seen: ReadonlyMap<number, Seen>): Verdict {
  const verdict = {
    problems: [] as string[],
    wanted: [] as WantedPet[],
    acknowledged: [] as StoredPet[],
    answers: 0,
    reached: new Set<State>(),
  };
  for (const on of connectionsOf(fuzzCase)) {
    const sent = bytesOf(fuzzCase, on);
    const stream = readRequests(sent);
    const at = seen.get(on);
    if (at === undefined) throw new Error(`connection ${on} was not played`);
    const connection = new JudgedConnection(sent, stream, at);
    verdict.problems.push(...connection.problems.map((problem) => `connection ${on}: ${problem}`));
    verdict.acknowledged.push(...connection.acknowledged);
    verdict.answers += connection.answers;
    for (const state of connection.reached) verdict.reached.add(state);
    verdict.wanted.push(...stream.requests.flatMap((request) => expectedAnswer(request, STATE).pet ?? []));
  }
  return verdict;
}

/** The fuzzer does not know what is stored: its requests overtake each other. */
const STATE = { key: FUZZ_KEY } as const;

/** As many wrong parameters an error names. */
const MAX_NAMED = 10;

/** The statuses of requests that Node's parser or timers refuse. */
const REFUSED = [400, 408, 413, 414, 431];

const MADE_ID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

type ParsedAnswer = { readonly answer: Answer; readonly length: number; readonly method: string };

function asAnswerTo(method: string, bytes: Buffer): ParsedAnswer | undefined {
  const parsed = parseAnswer(bytes, method);
  return parsed && { ...parsed, method };
}

class JudgedConnection {
  readonly problems: string[] = [];
  readonly acknowledged: StoredPet[] = [];
  answers = 0;
  readonly reached = new Set<State>();
  readonly #sent: Buffer;
  readonly #stream: ReadStream;
  readonly #seen: Seen;
  #said100 = false;
  #saidClose = false;

  constructor(sent: Buffer, stream: ReadStream, seen: Seen) {
    this.#sent = sent;
    this.#stream = stream;
    this.#seen = seen;
    if (seen.end === 'hangs') this.problems.push('the service does not close it');
    if (this.#readAnswers()) this.#checkMissing();
  }

  /** @returns false if the rest is unreadable */
  #readAnswers(): boolean {
    let { bytes } = this.#seen;
    while (bytes.length > 0) {
      if (this.#saidClose) {
        this.problems.push(`bytes after "Connection: close": ${shown(bytes)}`);
        return false;
      }
      let parsed: ParsedAnswer | undefined;
      try {
        parsed = this.#parse(bytes);
      } catch (error) {
        this.problems.push(`${String(error)}: ${shown(bytes)}`);
        return false;
      }
      if (parsed === undefined) {
        if (this.#seen.end === 'closed') this.problems.push(`half an answer: ${shown(bytes)}`);
        return false;
      }
      this.#check(parsed.answer, parsed.method);
      bytes = bytes.subarray(parsed.length);
    }
    return true;
  }

  #parse(bytes: Buffer): ParsedAnswer | undefined {
    const request = this.#stream.requests[this.answers];
    if (request !== undefined && request.method !== 'HEAD') return asAnswerTo(request.method, bytes);
    const asHead = asAnswerTo('HEAD', bytes);
    const hasNoBody =
      asHead !== undefined && /^(?:HTTP|$)/.test(bytes.toString('latin1', asHead.length, asHead.length + 4));
    if (hasNoBody || (request !== undefined && !request.isOdd && asHead?.answer.status !== 408))
      return asHead;
    // The parser and its timers may give up before they know that the method is HEAD.
    return asAnswerTo('', bytes);
  }

  #check(answer: Answer, method: string): void {
    const request = this.#stream.requests[this.answers];
    const { status } = answer;
    const told = TOLD.get(status);
    if (told !== undefined) this.reached.add(told);
    if (answer.headers['idempotent-replayed'] === 'true') this.reached.add('replay');
    if (status === 100) {
      // The service says so before it looks at the framing.
      const isExpected =
        request === undefined
          ? /\r\nexpect:[ \t]*100-continue/i.test(this.#stream.restText)
          : request.headers.some(([name]) => name === 'expect');
      if (!isExpected || this.#said100) this.problems.push(`100 to ${named(request)}`);
      this.#said100 = true;
      return;
    }
    this.#said100 = false;
    this.answers++;
    this.#saidClose = answer.headers['connection'] === 'close';
    const complain = (text: string) =>
      this.problems.push(`${named(request)} was answered ${status} ${answer.body.slice(0, 300)}: ${text}`);
    try {
      expectConforms({ method, path: request?.target ?? '', ...answer });
    } catch (error) {
      complain(String(error));
      // A body of another form has no pets to check.
      if (request !== undefined) return;
    }
    if (status >= 500) complain('the service blames itself');
    const isLate = status === 408 && this.#seen.openMs >= FUZZ_LIMITS.headersTimeoutMs;
    if (status === 408 && !isLate) complain('it had more time');
    if (!isLate && !this.#isOwnId(request, String(answer.headers['x-request-id']))) {
      complain(`the answer to ${String(answer.headers['x-request-id'])}`);
    }
    if (this.answers > 1) this.reached.add('answered-in-order');
    if (request === undefined) this.#checkRefusal(answer, complain);
    else this.#checkAnswer(request, answer, complain);
  }

  #isOwnId(request: ReadRequest | undefined, id: string): boolean {
    if (request === undefined) return MADE_ID.test(id) || this.#sent.includes(id);
    const ids = request.headers.filter(([name]) => name === 'x-request-id').map(([, value]) => value);
    const isKept = ids.length === 1 && /^[\w.-]{1,64}$/.test(ids[0] ?? '');
    // What the parser refuses has no headers yet.
    if (isKept && id === ids[0]) return true;
    return MADE_ID.test(id) && (!isKept || request.isOdd);
  }

  #checkRefusal({ status }: Answer, complain: (text: string) => void): void {
    const { rest } = this.#stream;
    // The first request of a connection has a time limit even if nothing of it arrives.
    const isUnused = status === 408 && this.#stream.requests.length === 0;
    if ((rest === 'nothing' && !isUnused) || rest === 'ignored') complain('there was no further request');
    if (!REFUSED.includes(status)) complain('the request is not valid HTTP');
    if (!this.#saidClose) complain('the connection stays open');
    this.reached.add('no-http');
  }

  #checkAnswer(request: ReadRequest, answer: Answer, complain: (text: string) => void): void {
    const { status } = answer;
    const { method } = request;
    const isLate = status === 408;
    if (request.bodyState !== 'whole') {
      if (status === 201) complain(`the body is ${request.bodyState}`);
      return;
    }
    const isRefused = request.isOdd && this.#saidClose && REFUSED.includes(status);
    if (isLate || isRefused) return;
    if (this.#saidClose ? request.closes === 'never' : request.closes === 'must') {
      complain(this.#saidClose ? 'the connection ends' : 'the connection stays open');
    }
    const { statuses, code = '', names = [], pet } = expectedAnswer(request, STATE);
    if (statuses?.includes(status) === false) complain(`expected ${statuses.join(' or ')}`);
    else if (status < 400) this.#checkPets(request, answer, pet, complain);
    else if (method !== 'HEAD' && !saysWhy(answer.body, code, names))
      complain(`expected ${code} ${names.join()}`);
  }

  #checkPets(
    { method, target }: ReadRequest,
    { status, body }: Answer,
    wanted: WantedPet | undefined,
    complain: (text: string) => void,
  ): void {
    if (method === 'HEAD' || !target.startsWith('/v1/pets') || (status !== 200 && status !== 201)) return;
    const pets = parsePets(body.startsWith('[') ? body : `[${body}]`);
    if (status === 201) {
      this.acknowledged.push(...pets);
      if (pets[0] === undefined || wanted === undefined || petText(pets[0]) !== petText(wanted)) {
        complain(`expected the pet ${wanted && petText(wanted)}`);
      }
      return;
    }
    const query = new URLSearchParams(target.split('?')[1]);
    let last = cursorId(query.get('cursor'));
    const limit = target.startsWith('/v1/pets/') ? 1 : Number(query.get('limit') ?? 20);
    const filter = query.get('status');
    if (pets.length > limit) complain('the page is too long');
    for (const { id, status: petStatus } of pets) {
      if (id <= last) complain('the ids do not increase');
      if (filter !== null && petStatus !== filter) complain('the page has another status');
      last = id;
    }
    const id = /^\/v1\/pets\/(\d+)$/.exec(target)?.[1];
    if (id !== undefined && String(pets[0]?.id) !== id) complain('it is another pet');
  }

  /** Whether every request got an answer, or an answer before it said that it is the last. */
  #checkMissing(): void {
    const { requests, rest, restText } = this.#stream;
    if (this.#saidClose && this.answers < requests.length) this.reached.add('ignored-after-close');
    if (this.#saidClose || this.#seen.end !== 'closed') return;
    const due = requests.length + (rest === 'broken' || rest === 'incomplete' ? 1 : 0);
    // A client that takes too long may lose its connection, and a reset may then destroy the last answer.
    const { sendMs } = this.#seen;
    const missing = due - this.answers;
    if (missing <= 0 || rest === 'tunnel' || sendMs >= FUZZ_LIMITS.headersTimeoutMs) return;
    if (missing === 1 && rest === 'broken' && sendMs >= LINGER_MS) return;
    const lastBody = requests.at(-1)?.bodyState;
    // The client ends its side before its request is whole.
    if (missing === 1 && (rest === 'incomplete' || lastBody === 'incomplete')) return;
    // The client fails to send what follows the last request, or a broken body, before it reads.
    if (lastBody === 'broken' || (rest === 'ignored' && restText !== '')) return;
    this.problems.push(
      `${this.answers} of ${due} answers: none to ${named(requests[this.answers])} (then: ${rest})`,
    );
  }
}

/** Whether an error has the code, where one is due, and names what is wrong. */
function saysWhy(body: string, due: string, names: readonly string[]): boolean {
  const { code, message } = JSON.parse(body) as { readonly code: string; readonly message: string };
  return (
    (due === '' || code === due) &&
    (names.length > MAX_NAMED || names.every((name) => message.includes(name)))
  );
}

/** What tells two pets with different content apart. */
export function petText({ name, categoryId, status }: WantedPet): string {
  return JSON.stringify([name, String(categoryId), status]);
}

function named(request: ReadRequest | undefined): string {
  return request === undefined
    ? 'what is not a request'
    : `${request.method} ${request.target.slice(0, 200)}`;
}

function shown(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, 300));
}
