import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { acceptedRequestId, answerHeaders, requestIdOf } from '../wire/answer-headers.ts';
import { type ErrorAnswer, errorAnswer, errorJson, type RequestRefused } from '../wire/errors.ts';
import {
  CHUNK_EXTENSIONS_TOO_LARGE,
  HEADERS_TOO_LARGE,
  NOT_HTTP,
  REQUEST_TIMEOUT,
  UNKNOWN_HTTP_METHOD,
  URL_TOO_LONG,
} from '../wire/refusals.ts';
import type { RequestLog } from '../wire/request-log.ts';
import { MAX_URL_BYTES } from '../wire/limits.ts';
import type { Connection } from './connection.ts';
import { hangUp } from './hang-up.ts';
import { isLast, setLast } from './node-internals.ts';

/** An error of Node's HTTP parser or its timers. */
export type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/** A request line whose URL is longer than the limit. */
const LONG_URL = new RegExp(String.raw`(?:^|\n)[A-Z-]+ [^ \r\n]{${MAX_URL_BYTES + 1}}`);

/** What is unknown of a request that the application has not seen. */
const UNSEEN = {
  route: undefined,
  durationMs: undefined,
  keyId: undefined,
  keyLabel: undefined,
  aborted: undefined,
};

/** The first byte of a TLS handshake: RFC 8446, section 5.1. */
const TLS_HANDSHAKE = 0x16;

export function isTls({ rawPacket }: ClientError): boolean {
  return rawPacket?.[0] === TLS_HANDSHAKE;
}

/**
 * Answers input that Node's parser gave up on: bytes that are not HTTP, or a request that does not end in time. There
 * may be no response object for such input. The answer then goes directly to the socket, which is closed.
 */
export function answerBrokenRequest(error: ClientError, connection: Connection, log: RequestLog): void {
  const { latest, socket } = connection;
  const { code, rawPacket = Buffer.of() } = error;
  const refused = refusal(code, connection.pieceUntil(rawPacket));
  if (latest === undefined || (latest.req.complete && latest.writableFinished)) {
    writeToSocket(refused, socket, log);
  } else if (latest.req.complete) {
    // The broken input follows a complete request, whose answer comes first. Node may close the connection after that.
    latest.prependOnceListener('finish', () => {
      if (!isLast(latest)) writeToSocket(refused, socket, log);
    });
  } else if (latest.headersSent) {
    // The broken input is in the body of a request that is answered without it. The answer may lack its body yet.
    if (latest.writableFinished) hangUp(socket);
    else latest.once('finish', () => hangUp(socket));
  } else {
    answerWith(latest, errorAnswer(refused), requestIdOf(latest.req));
  }
}

/**
 * Whether a proxy in front of the service could disagree with it about where this request ends (request smuggling).
 * Node's parser refuses most such requests, but not all.
 */
export function isAmbiguous({ httpVersion, headers }: IncomingMessage): boolean {
  if (httpVersion === '1.1') {
    // Node treats any coding that ends in "chunked" as chunked. A server that does not know the coding sees no body.
    const coding = headers['transfer-encoding'];
    return coding !== undefined && coding.toLowerCase() !== 'chunked';
  }
  // HTTP/1.0 has no chunks: RFC 9112, section 6.1. Node also accepts 0.9 and 2.0, and parses them as 1.1.
  return httpVersion !== '1.0' || headers['transfer-encoding'] !== undefined;
}

/** Refuses an ambiguous request. The connection closes, because the bytes that follow cannot be trusted. */
export function refuseAmbiguous(response: ServerResponse, log: RequestLog): void {
  const id = requestIdOf(response.req);
  const answer = errorAnswer(NOT_HTTP);
  const { status } = answer;
  const { method, socket } = response.req;
  // Not a forwarded address: the headers may be those of a request that a client has smuggled past its proxy.
  const client = socket.remoteAddress;
  response.once('close', () => log.answered({ ...UNSEEN, requestId: id, method, status, client }));
  answerWith(response, answer, id);
}

function answerWith(response: ServerResponse, answer: ErrorAnswer, id: string): void {
  const body = errorJson(answer);
  setLast(response, true);
  response.writeHead(answer.status, answerHeaders(id, body));
  response.end(body);
}

function writeToSocket(refused: RequestRefused, socket: Socket, log: RequestLog): void {
  // The client is gone, or the answer before it said `Connection: close`.
  if (!socket.writable) return;
  const id = acceptedRequestId(undefined);
  const answer = errorAnswer(refused);
  const { status } = answer;
  log.answered({ ...UNSEEN, requestId: id, method: undefined, status, client: socket.remoteAddress });
  hangUp(socket, message(answer, id));
}

function refusal(code: string | undefined, piece: Buffer): RequestRefused {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      // The parser does not say which line is too long. Only the last piece of a request line is visible here. If it
      // came in several pieces, the answer is 431, which is also correct.
      return LONG_URL.test(piece.toString('latin1')) ? URL_TOO_LONG : HEADERS_TOO_LARGE;
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return CHUNK_EXTENSIONS_TOO_LARGE;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return REQUEST_TIMEOUT;
    case 'HPE_INVALID_METHOD':
      return UNKNOWN_HTTP_METHOD;
    default:
      return NOT_HTTP;
  }
}

function message(answer: ErrorAnswer, requestId: string): string {
  const body = errorJson(answer);
  const headers = { ...answerHeaders(requestId, body), Date: new Date().toUTCString(), Connection: 'close' };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${lines.join('')}\r\n${body}`;
}
