import { ServerResponse } from 'node:http';

/** 32 answers take about 1 ms. */
const MAX_ANSWERS = 32;

let waiting: (() => void)[] = [];

function endAll(): void {
  const ended = waiting;
  waiting = [];
  for (const end of ended) end();
}

/** Sends the answers of one iteration of the event loop together: see docs/explanation/a-request.md. */
export class BatchedResponse extends ServerResponse {
  #isEnding = false;

  /** Only the first call has an effect. The answer leaves before the event loop waits again. */
  override end(body?: unknown): this {
    if (this.#isEnding) return this;
    this.#isEnding = true;
    // From here on, `headersSent` reports that the request is answered.
    if (!this.headersSent) this.writeHead(this.statusCode);
    const sent = typeof body === 'string' && body.length > 16_384 ? Buffer.from(body) : body;
    const count = waiting.push(() => super.end(sent));
    if (count === 1) setImmediate(endAll);
    else if (count === MAX_ANSWERS) endAll();
    return this;
  }
}
