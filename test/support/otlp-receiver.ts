import { EventEmitter } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listenOnLoopback } from './on-loopback.ts';
import { decodeSpans, type ReceivedSpan } from './otlp-spans.ts';
import { waitFor } from './wait-for.ts';

type Export = {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly spans: readonly ReceivedSpan[];
};

/** A receiver of traces in OTLP, the protocol of OpenTelemetry, over HTTP. It stops when the running test ends. */
export class OtlpReceiver {
  readonly url: string;
  readonly exports: Export[] = [];
  readonly #events = new EventEmitter();

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
  }

  /** @param answer answers each export, by default with 200 */
  static async start(
    answer: (response: ServerResponse) => void = (response) => response.end(),
  ): Promise<OtlpReceiver> {
    const server = createServer();
    onTestFinished(() => server.closeAllConnections());
    const receiver = new OtlpReceiver(await listenOnLoopback(server));
    server.on('request', (request, response) => void receiver.#receive(request, () => answer(response)));
    return receiver;
  }

  async #receive(request: IncomingMessage, answer: () => void): Promise<void> {
    const { url: path, headers } = request;
    this.exports.push({ path, headers, spans: decodeSpans(await buffer(request)) });
    answer();
    this.#events.emit('export');
  }

  /** The spans that have arrived so far. */
  get spans(): readonly ReceivedSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  /** Waits for the first span with this name. */
  span(name: string): Promise<ReceivedSpan> {
    return waitFor(this.#events, 'export', () => this.spans.find((span) => span.name === name));
  }

  /** Waits until this many spans have arrived. */
  count(spans: number): Promise<readonly ReceivedSpan[]> {
    return waitFor(this.#events, 'export', () => (this.spans.length >= spans ? this.spans : undefined));
  }
}
