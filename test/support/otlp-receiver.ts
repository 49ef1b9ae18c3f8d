import { EventEmitter, once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { decodeSpans, type ReceivedSpan } from './otlp-spans.ts';
import { waitFor } from './wait-for.ts';

type Export = {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly spans: readonly ReceivedSpan[];
};

/** A receiver of OTLP over HTTP. It stops when the running test ends. */
export class OtlpReceiver {
  readonly url: string;
  readonly exports: Export[] = [];
  readonly #news = new EventEmitter();

  private constructor(server: Server, answer: (response: ServerResponse) => void) {
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const receive = async (request: IncomingMessage, response: ServerResponse) => {
      const { url: path, headers } = request;
      const spans = decodeSpans(await buffer(request));
      this.exports.push({ path, headers, spans });
      answer(response);
      this.#news.emit('export');
    };
    server.on('request', (request, response) => void receive(request, response));
  }

  /** @param answer answers an export. By default with 200 */
  static async start(
    answer: (response: ServerResponse) => void = (response) => response.end(),
  ): Promise<OtlpReceiver> {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    await once(server, 'listening');
    return new OtlpReceiver(server, answer);
  }

  /** The spans so far. */
  get spans(): readonly ReceivedSpan[] {
    return this.exports.flatMap(({ spans }) => spans);
  }

  /** Waits for the first span with this name. */
  span(name: string): Promise<ReceivedSpan> {
    return waitFor(this.#news, 'export', () => this.spans.find((span) => span.name === name));
  }

  /** Waits until this many spans have arrived. */
  count(spans: number): Promise<readonly ReceivedSpan[]> {
    return waitFor(this.#news, 'export', () => (this.spans.length >= spans ? this.spans : undefined));
  }
}
