/** Header fields by name. */
export type Headers = Readonly<Record<string, string>>;

/** The headers of every answer, unless its route says otherwise: browsers may keep the files of the docs page. */
export const ANSWER_HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const;

/**
 * The headers of an answer with this body, as JSON. The record is new for every call, and the caller may change it.
 *
 * @param body absent from an answer without content, such as 204
 */
export function answerHeaders(requestId: string, body?: string | Buffer): Record<string, string> {
  const headers: Record<string, string> = { 'X-Request-Id': requestId, ...ANSWER_HEADERS };
  if (body !== undefined) {
    headers['Content-Type'] = 'application/json; charset=utf-8';
    headers['Content-Length'] = String(Buffer.byteLength(body));
  }
  return headers;
}
