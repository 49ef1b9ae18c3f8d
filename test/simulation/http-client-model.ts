import { numbers } from '../support/numbers.ts';
import type { ListeningModel } from './listening-model.ts';
import type { Simulation } from './simulation.ts';
import { SocketModel } from './socket-model.ts';

/** A request, and how far it has come. */
type Sent = {
  readonly target: string;
  /** When its first byte arrived, on the virtual clock. */
  beganAtMs: number | undefined;
  isComplete: boolean;
  /** Its last byte came after the server had decided that an earlier answer is the last one. It may be dropped. */
  isLate: boolean;
};

const ANSWER = /^HTTP\/1\.1 200 OK\r\n(?<headers>(?:[^\r\n]+\r\n)*)\r\n/;

/** One client on one connection: it sends requests in pieces, one after another or pipelined, and reads the answers. */
export class HttpClientModel {
  readonly name: string;
  readonly socket: SocketModel;
  /** When something last happened on the connection, on the virtual clock. */
  lastActivityMs: number;
  /** The client has reset the connection. */
  hasLeft = false;
  #isConnected = false;
  #hasEnded = false;
  /** It stops in the middle of a request, and the server must wait for the rest. */
  readonly stopsHalfway: boolean;
  readonly #simulation: Simulation;
  readonly #requests: Sent[] = [];
  #answered = 0;
  #readChars = 0;
  #isLast = false;
  #onAnswer = Promise.withResolvers<void>();

  constructor(simulation: Simulation, name: string) {
    const { random } = simulation;
    this.#simulation = simulation;
    this.name = name;
    this.stopsHalfway = random.chance(0.03);
    this.lastActivityMs = simulation.nowMs;
    this.socket = new SocketModel(simulation, name, random.chance(0.3));
    this.socket.on('sent', () => this.#onSent());
    this.socket.on('close', () => this.#onAnswer.resolve());
    // Node's server reports it, and this listener keeps the stream from throwing.
    this.socket.on('error', (error) => simulation.note(`${name}: ${error.message}`));
  }

  /** Every request that has begun to arrive is answered, and the client may send more. */
  get isIdle(): boolean {
    return !this.hasLeft && !this.#hasEnded && !this.socket.isEnding && this.unanswered.length === 0;
  }

  /** The server has sent its last answer, and the client leaves its side of the connection open. */
  get isLingering(): boolean {
    return this.socket.isEnding && !this.hasLeft && !this.#hasEnded;
  }

  get isOpen(): boolean {
    return this.#isConnected && !this.socket.destroyed;
  }

  /** Requests that the server has begun to receive in time and has not answered. */
  get unanswered(): readonly string[] {
    if (this.hasLeft) return [];
    const { isEnding } = this.socket;
    return this.#requests
      .slice(this.#answered)
      .filter(
        ({ beganAtMs, isComplete, isLate }) =>
          beganAtMs !== undefined && !isLate && (isComplete || !isEnding),
      )
      .map(({ target }) => target);
  }

  /** Connects and sends some requests. Never rejects. */
  async run(system: ListeningModel): Promise<void> {
    const { random } = this.#simulation;
    await this.#simulation.wait(`${this.name} connects`, random.between(0, random.pick([3, 30, 600])));
    if (!system.isListening) return;
    this.#isConnected = true;
    system.accept(this.socket);
    const isPipelining = random.chance(0.4);
    for (const number of numbers(random.integer(0, 7))) {
      const thinkMs = random.chance(0.7) ? random.between(0, 5) : random.between(5, 1_500);
      await this.#simulation.wait(`${this.name} thinks`, thinkMs);
      // With more than eight, the server ends the connection.
      await this.#answeredBut(isPipelining ? 2 : 0);
      if (this.#isLast || this.socket.destroyed) break;
      // Many requests in one piece wait for each other in the server.
      const count = isPipelining && random.chance(0.3) ? random.integer(2, 6) : 1;
      await this.#send(numbers(count).map((index) => `/${this.name}/${number}.${index}`));
      if (this.stopsHalfway) return;
    }
    await this.#leave();
  }

  /** Keeps the connection open, ends its own side, or resets the connection. */
  async #leave(): Promise<void> {
    const { random } = this.#simulation;
    const way = random.pick(['stays', 'stays', 'ends', 'ends after the answers', 'resets'] as const);
    if (way === 'stays') return;
    await this.#simulation.wait(`${this.name} ${way}`, random.between(0, 20));
    if (way === 'ends after the answers') await this.#answeredBut(0);
    if (this.socket.destroyed) return;
    this.lastActivityMs = this.#simulation.nowMs;
    if (way === 'resets') {
      this.hasLeft = true;
      this.socket.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
      return;
    }
    this.#hasEnded = true;
    this.socket.push(null);
  }

  async #send(targets: readonly string[]): Promise<void> {
    const { random } = this.#simulation;
    const requests = targets.map((target) => ({
      text: requestText(target, random.chance(0.4) ? random.integer(1, 600) : 0),
      sent: { target, beganAtMs: undefined, isComplete: false, isLate: false } as Sent,
    }));
    this.#requests.push(...requests.map(({ sent }) => sent));
    const text = requests.map((request) => request.text).join('');
    let arrived = 0;
    for (const end of this.#pieces(text.length)) {
      const waitMs = random.chance(0.8) ? random.between(0, 2) : random.between(2, 700);
      await this.#simulation.wait(`${this.name} sends ${targets.join(' ')} up to ${end}`, waitMs);
      if (this.socket.destroyed || this.socket.readableEnded) return;
      this.lastActivityMs = this.#simulation.nowMs;
      let begin = 0;
      for (const { text: one, sent } of requests) {
        if (begin >= arrived && begin < end) sent.beganAtMs = this.#simulation.nowMs;
        begin += one.length;
        if (begin > arrived && begin <= end) this.#complete(sent);
      }
      this.socket.push(Buffer.from(text.slice(arrived, end)));
      arrived = end;
    }
  }

  #complete(sent: Sent): void {
    Object.assign(sent, { isComplete: true, isLate: this.socket.isEnding });
  }

  /** @returns where the pieces of a request end */
  #pieces(length: number): readonly number[] {
    const { random } = this.#simulation;
    const ends = numbers(random.pick([0, 0, 1, 3])).map(() => random.integer(1, length - 1));
    const all = [...new Set([...ends, length])].toSorted((a, b) => a - b);
    return this.stopsHalfway ? [Math.ceil(length / 2)] : all;
  }

  /** Waits until at most so many requests have no answer. */
  async #answeredBut(count: number): Promise<void> {
    while (this.#answered + count < this.#requests.length && !this.socket.destroyed && !this.#isLast) {
      await this.#onAnswer.promise;
    }
  }

  /** Reads every complete answer. */
  #onSent(): void {
    this.lastActivityMs = this.#simulation.nowMs;
    for (;;) {
      const rest = this.socket.sent.slice(this.#readChars);
      const match = ANSWER.exec(rest);
      if (match === null)
        return this.#check(isBeginning(rest), `cannot read ${JSON.stringify(rest.slice(0, 80))}`);
      const { headers = '' } = match.groups ?? {};
      const end =
        match[0].length + Number(/Content-Length: (?<length>\d+)/i.exec(headers)?.groups?.['length']);
      if (rest.length < end) return;
      this.#readChars += end;
      this.#onWhole(rest.slice(match[0].length, end), /^connection: close/im.test(headers));
    }
  }

  #onWhole(body: string, isLast: boolean): void {
    const expected = this.#requests[this.#answered]?.target;
    this.#check(body.trimEnd() === expected, `got ${body.trimEnd()} instead of ${expected}`);
    this.#check(!this.#isLast, 'got an answer after the last one');
    this.#answered++;
    this.#isLast = isLast;
    this.#onAnswer.resolve();
    this.#onAnswer = Promise.withResolvers();
  }

  #check(condition: boolean, violation: string): void {
    this.#simulation.check(condition, () => `${this.name}: ${violation}`);
  }
}

function requestText(target: string, bodyBytes: number): string {
  const head = `${bodyBytes === 0 ? 'GET' : 'POST'} ${target} HTTP/1.1\r\nHost: x\r\n`;
  return bodyBytes === 0
    ? `${head}\r\n`
    : `${head}Content-Length: ${bodyBytes}\r\n\r\n${'x'.repeat(bodyBytes)}`;
}

/** Whether more bytes can make an answer of it. */
function isBeginning(text: string): boolean {
  const begin = 'HTTP/1.1 200 OK\r\n';
  return text.startsWith(begin) || begin.startsWith(text);
}
