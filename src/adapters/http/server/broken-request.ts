import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerHeaders } from '../wire/answer-headers.ts';
import { type ErrorAnswer, errorAnswer, errorJson, type RequestRefused } from '../wire/errors.ts';
import {
  chunkExtensionsTooLarge,
  headersTooLarge,
  notHttp,
  requestTimeout,
  unknownHttpMethod,
  urlTooLong,
} from '../wire/refusals.ts';
import { acceptedRequestId, requestIdOf } from '../wire/request-id.ts';
import type { RequestLog } from '../request-log.ts';

/** What Node's HTTP parser and its timers say. */
type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/** For how long a client that has its answer may go on sending before it is hung up on, in milliseconds. */
const LINGER = 1_000;

/** Connections on which nothing more can be understood. */
const broken = new WeakSet<Duplex>();

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
  // Node reports the same error again for whatever else comes, each time with the bytes.
  if (broken.has(socket)) return;
  broken.add(socket);
  if (latest === undefined || (latest.req.complete && latest.writableFinished)) {
    write(error, socket, log);
  } else if (latest.req.complete) {
    // The error is in what came behind a good request, whose answer comes first.
    latest.once('finish', () => write(error, socket, log));
  } else if (latest.headersSent) {
    // The error is in the body of a request that has been answered without it.
    hangUp(socket);
  } else {
    answerWith(latest, errorAnswer(refusal(error)), requestIdOf(latest.req));
  }
}

/**
 * Whether another server, which this one may be behind, could take the request to end elsewhere. Node's parser
 * refuses most of such requests itself, but not all.
 */
export function isAmbiguous({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.1') {
    // Nothing else that ends in "chunked" is decoded, and a server that does not know the coding sees no body.
    const coding = headers['transfer-encoding'];
    return coding !== undefined && coding.toLowerCase() !== 'chunked';
  }
  // HTTP/1.0 has no chunks: RFC 9112, section 6.1. Node takes 0.9 and 2.0, too, and reads them as if they were 1.1.
  return httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined;
}

/** Answers a request that {@link isAmbiguous}; nothing behind it can be trusted. */
export function refuseAmbiguous(response: ServerResponse, log: RequestLog): void {
  const id = requestIdOf(response.req);
  const answer = errorAnswer(notHttp());
  response.once('close', () => logAnswer(log, id, answer, response.req.method));
  response.shouldKeepAlive = false;
  answerWith(response, answer, id);
}

function answerWith(response: ServerResponse, answer: ErrorAnswer, id: string): void {
  const body = errorJson(answer);
  response.writeHead(answer.status, { ...answerHeaders(id, body), Connection: 'close' });
  response.end(body);
}

function write(error: ClientError, socket: Duplex, log: RequestLog): void {
  // The answer before it was the last.
  if (socket.writableEnded) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const id = acceptedRequestId(undefined);
  const answer = errorAnswer(refusal(error));
  logAnswer(log, id, answer, undefined);
  hangUp(socket, message(answer, id));
}

function logAnswer(
  log: RequestLog,
  requestId: string,
  { status }: ErrorAnswer,
  method: string | undefined,
): void {
  log.answered({
    requestId,
    method,
    route: undefined,
    status,
    durationMs: undefined,
    keyId: undefined,
    keyLabel: undefined,
    aborted: undefined,
  });
}

/**
 * Closes our side, and the whole connection when the client has had time to read what it was told: closing it at
 * once, with bytes of the client still unread, resets it, and a reset takes the answer with it.
 */
export function hangUp(socket: Duplex, lastWords?: string): void {
  if (socket.writableEnded) return;
  socket.end(lastWords);
  const timer = setTimeout(() => socket.destroy(), LINGER);
  socket.once('close', () => clearTimeout(timer));
}

function refusal({ code, rawPacket }: ClientError): RequestRefused {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      // The parser does not tell which line it was in. Of a request line that came in pieces, the last may be all
      // that is there to see: that is answered 431, which is true of it too.
      return /(?:^|\n)[A-Z-]+ [^\r\n]{8192}/.test(rawPacket?.toString('latin1') ?? '')
        ? urlTooLong()
        : headersTooLarge();
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return chunkExtensionsTooLarge();
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return requestTimeout();
    case 'HPE_INVALID_METHOD':
      return unknownHttpMethod();
    default:
      return notHttp();
  }
}

function message(answer: ErrorAnswer, requestId: string): string {
  const body = errorJson(answer);
  const headers = { ...answerHeaders(requestId, body), Date: new Date().toUTCString(), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n${body}`;
}
