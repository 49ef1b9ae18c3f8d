import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { answerHeaders } from '../contract/answer-headers.ts';
import { errorJson, type RequestRefused } from '../contract/errors.ts';
import { MAX_URL_BYTES } from '../contract/limits.ts';
import * as refusals from '../contract/refusals.ts';

/** An error of Node's HTTP parser or its timers: https://nodejs.org/api/http.html#event-clienterror */
export type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

const LONG_URL = new RegExp(String.raw`(?:^|\n)[A-Z-]+ [^ \r\n]{${MAX_URL_BYTES + 1}}`);

/** Whether a proxy and Node may see different ends of the request (smuggling): see docs/explanation/a-request.md. */
export function isAmbiguous({ httpVersion, headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (httpVersion === '1.1') return coding !== undefined && coding.toLowerCase() !== 'chunked';
  // HTTP/1.0 has no chunks: RFC 9112, section 6.1. Node also accepts versions 0.9 and 2.0, and parses them as 1.1.
  return httpVersion !== '1.0' || coding !== undefined;
}

const REFUSAL_BY_ERROR_CODE = new Map([
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', refusals.CHUNK_EXTENSIONS_TOO_LARGE],
  ['ERR_HTTP_REQUEST_TIMEOUT', refusals.REQUEST_TIMEOUT],
  ['HPE_INVALID_METHOD', refusals.UNKNOWN_HTTP_METHOD],
]);

export function refusalOf({ code = '', rawPacket = Buffer.of() }: ClientError): RequestRefused {
  if (code !== 'HPE_HEADER_OVERFLOW') return REFUSAL_BY_ERROR_CODE.get(code) ?? refusals.NOT_HTTP;
  // If a long URL arrives in several pieces, the answer is a 431, which is also correct.
  return LONG_URL.test(rawPacket.toString('latin1')) ? refusals.URL_TOO_LONG : refusals.HEADERS_TOO_LARGE;
}

/** The text of an answer for which Node has no response object. The connection ends after the answer. */
export function lastAnswer(refusal: RequestRefused, requestId: string): string {
  const { status } = refusal;
  const body = errorJson(refusal);
  const ending = { 'Content-Length': body.length, Date: new Date().toUTCString(), Connection: 'close' };
  const lines = Object.entries({ ...answerHeaders(requestId), ...ending }).map((field) => field.join(': '));
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n');
}
