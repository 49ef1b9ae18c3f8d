/** An answer as a client sees it. */
export type Answer = {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** What `expectConforms` sees to in every answer, and what is Node's. */
const ALWAYS_THERE = new Set([
  'x-request-id',
  'x-content-type-options',
  'cache-control',
  'content-type',
  'content-length',
  'date',
  'connection',
  'keep-alive',
]);

type Whole = Pick<Answer, 'status' | 'headers' | 'body'>;

/** An answer less the headers that every answer has: what a test compares as a whole. */
export function whole({ status, headers, body }: Answer): Whole {
  const telling = Object.entries(headers).filter(([name]) => !ALWAYS_THERE.has(name));
  return { status, headers: Object.fromEntries(telling), body };
}

/** What {@link whole} gives of a success. */
export function success(status: number, body: string, headers: Record<string, string> = {}): Whole {
  return { status, headers, body };
}

/** What {@link whole} gives of an error. */
export function problem(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): Whole {
  return { status, headers, body: JSON.stringify({ code, message, status }) };
}
