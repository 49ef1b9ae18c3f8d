import { numbers } from '../support/numbers.ts';
import type { ListeningModel } from './listening-model.ts';
import type { Simulation } from './simulation.ts';
import { SocketModel } from './socket-model.ts';

/** A request, and how far it has come. */
type Sent = {
  readonly target: string;
  readonly text: string;
  arrivedBytes: number;
  /** Its first byte came after the server had decided that an earlier answer is the last one. */
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

  get isOpen(): boolean {
    return this.#isConnected && !this.socket.destroyed;
  }

  /** Requests that the server has begun to receive in time and has not answered. */
  get unanswered(): readonly string[] {
    if (this.hasLeft) return [];
    return this.#requests
      .slice(this.#answered)
      .filter(({ arrivedBytes, isLate }) => arrivedBytes > 0 && !isLate)
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
    for (const number of numbers(random.integer(0, 9))) {
      const thinkMs = random.chance(0.7) ? random.between(0, 5) : random.between(5, 1_500);
      await this.#simulation.wait(`${this.name} thinks`, thinkMs);
      if (!isPipelining) await this.#allAnswered();
      if (this.#isLast || this.socket.destroyed) break;
      await this.#send(`/${this.name}/${number}`);
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
    if (way === 'ends after the answers') await this.#allAnswered();
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

  async #send(target: string): Promise<void> {
    const { random } = this.#simulation;
    const body = random.chance(0.4) ? 'x'.repeat(random.integer(1, 600)) : '';
    const head = `${body === '' ? 'GET' : 'POST'} ${target} HTTP/1.1\r\nHost: x\r\n`;
    const text = body === '' ? `${head}\r\n` : `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const request: Sent = { target, text, arrivedBytes: 0, isLate: false };
    this.#requests.push(request);
    for (const end of this.#pieces(text.length)) {
      const waitMs = random.chance(0.8) ? random.between(0, 2) : random.between(2, 700);
      await this.#simulation.wait(`${this.name} sends ${target} up to ${end}`, waitMs);
      if (this.socket.destroyed || this.socket.readableEnded) return;
      if (request.arrivedBytes === 0) request.isLate = this.socket.isEnding;
      this.lastActivityMs = this.#simulation.nowMs;
      this.socket.push(Buffer.from(text.slice(request.arrivedBytes, end)));
      request.arrivedBytes = end;
    }
  }

  /** @returns where the pieces of a request end */
  #pieces(length: number): readonly number[] {
    const { random } = this.#simulation;
    const ends = numbers(random.pick([0, 0, 1, 3])).map(() => random.integer(1, length - 1));
    const all = [...new Set([...ends, length])].toSorted((a, b) => a - b);
    return this.stopsHalfway ? [Math.ceil(length / 2)] : all;
  }

  async #allAnswered(): Promise<void> {
    while (this.#answered < this.#requests.length && !this.socket.destroyed && !this.#isLast) {
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

/** Whether more bytes can make an answer of it. */
function isBeginning(text: string): boolean {
  const begin = 'HTTP/1.1 200 OK\r\n';
  return text.startsWith(begin) || begin.startsWith(text);
}
