import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { ANSWER_HEADERS } from './answer.ts';
import { type ErrorAnswer, errorAnswer, errorJson, RequestRefused } from './errors.ts';
import type { RequestLog } from './request-log.ts';
import { HEADERS_LIMIT, URL_LIMIT } from './request-target.ts';

/** What Node's HTTP parser and its timers say. */
type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/**
 * Answers what Node's parser gave up on: bytes that are not HTTP, or a request that does not end. It may never
 * have become a request, so that the answer is written to the socket, which is then closed.
 *
 * @param latest the answer to the last request that did come through on this connection
 */
export function answerBrokenRequest(
  error: ClientError,
  socket: Duplex,
  latest: ServerResponse | undefined,
  log: RequestLog,
): void {
  if (latest === undefined || latest.destroyed) {
    write(error, socket, log);
  } else if (!latest.req.complete) {
    // The error is in the body of a request that is being answered, or has been without its body.
    if (latest.headersSent) socket.destroy();
    else answerWith(latest, error);
  } else if (latest.writableFinished) {
    write(error, socket, log);
  } else {
    // The error is in what came behind a good request, whose answer comes first.
    latest.once('finish', () => write(error, socket, log));
  }
}

function answerWith(response: ServerResponse, error: ClientError): void {
  const answer = errorAnswer(refusal(error));
  const body = errorJson(answer);
  response.writeHead(answer.status, { 'Content-Length': Buffer.byteLength(body), Connection: 'close' });
  response.end(body);
}

function write(error: ClientError, socket: Duplex, log: RequestLog): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = randomUUID();
  const answer = errorAnswer(refusal(error));
  log.answered({
    requestId,
    method: undefined,
    route: undefined,
    status: answer.status,
    durationMs: undefined,
    key: undefined,
    aborted: false,
  });
  socket.end(message(answer, requestId));
}

function refusal({ code, rawPacket }: ClientError): RequestRefused {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      // The parser does not tell which line it was in. A packet without a line end is one endless request line.
      return /^[A-Z-]+ [^\r\n]{8192}/.test(rawPacket?.toString('latin1') ?? '')
        ? new RequestRefused('URI_TOO_LONG', `the URL must be at most ${URL_LIMIT} bytes`)
        : new RequestRefused(
            'HEADERS_TOO_LARGE',
            `the request line and headers must be at most ${HEADERS_LIMIT} bytes`,
          );
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new RequestRefused('PAYLOAD_TOO_LARGE', 'the chunk extensions are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RequestRefused('REQUEST_TIMEOUT', 'the request did not end in time');
    case 'HPE_INVALID_METHOD':
      return new RequestRefused('INVALID_ARGUMENT', 'the request has no HTTP method that this service knows');
    default:
      return new RequestRefused('INVALID_ARGUMENT', 'the request is not valid HTTP/1.1');
  }
}

function message(answer: ErrorAnswer, requestId: string): string {
  const body = errorJson(answer);
  const headers = {
    ...ANSWER_HEADERS,
    'X-Request-Id': requestId,
    'Content-Length': Buffer.byteLength(body),
    Date: new Date().toUTCString(),
    Connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${head.join('')}\r\n${body}`;
}
