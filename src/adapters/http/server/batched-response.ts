import { ServerResponse } from 'node:http';

/** The answers of a full batch take about 1 ms. */
const MAX_ANSWERS = 32;

let pendingSends: (() => void)[] = [];

function sendAll(): void {
  const sends = pendingSends;
  pendingSends = [];
  for (const send of sends) send();
}

/** Sends the answers of one iteration of the event loop together: see docs/explanation/a-request.md. */
export class BatchedResponse extends ServerResponse {
  #isEnding = false;

  /** The answer is sent before the event loop waits for events. */
  override end(body?: unknown): this {
    if (this.#isEnding) return this;
    this.#isEnding = true;
    // From here on, `headersSent` reports that the request is answered.
    if (!this.headersSent) this.writeHead(this.statusCode);
    const content = typeof body === 'string' && body.length > 16_384 ? Buffer.from(body) : body;
    const count = pendingSends.push(() => super.end(content));
    if (count === 1) setImmediate(sendAll);
    else if (count === MAX_ANSWERS) sendAll();
    return this;
  }
}
