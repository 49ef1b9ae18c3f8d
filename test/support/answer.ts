/** An answer as a client sees it. */
export type Answer = {
  readonly status: number;
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawHeaders: readonly string[];
  readonly body: string;
};

/** The headers that {@link brief} removes. `expectConforms` checks these headers, or Node adds them. */
const COMMON_HEADERS = new Set([
  'x-request-id',
  'x-content-type-options',
  'cache-control',
  'content-type',
  'content-length',
  'date',
  'connection',
  'keep-alive',
  // strict-transport.test.ts tests this header.
  'strict-transport-security',
]);

/** An answer without the {@link COMMON_HEADERS}. */
type BriefAnswer = Pick<Answer, 'status' | 'headers' | 'body'>;

/** Removes the {@link COMMON_HEADERS}. A test then compares the status, all other headers and the body. */
export function brief({ status, headers, body }: Answer): BriefAnswer {
  const specific = Object.entries(headers).filter(([name]) => !COMMON_HEADERS.has(name));
  return { status, headers: Object.fromEntries(specific), body };
}

/** Reads the response of a `fetch`, and returns it in the form of {@link brief}. */
export async function readBrief(response: Response): Promise<BriefAnswer> {
  const headers = Object.fromEntries(response.headers);
  return brief({ status: response.status, headers, rawHeaders: [], body: await response.text() });
}

/** The expected result of {@link brief} for a success. */
export function success(status: number, body: string, headers: Record<string, string> = {}): BriefAnswer {
  return { status, headers, body };
}

/** The expected result of {@link brief} for an error. */
export function problem(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): BriefAnswer {
  return { status, headers, body: JSON.stringify({ code, message, status }) };
}

/** The expected result of {@link brief} for the answer 400 to an invalid request. */
export function invalid(message: string, headers: Record<string, string> = {}): BriefAnswer {
  return problem(400, 'INVALID_ARGUMENT', message, headers);
}

/** The expected answer to bytes that are not an HTTP/1.1 request. */
export const NOT_HTTP = invalid('the request is not valid HTTP/1.1');

/** The expected answer when the path does not allow the method. `methods` is the Allow header, such as `GET, HEAD`. */
export function notAllowed(methods: string, headers: Record<string, string> = {}): BriefAnswer {
  const message = `this path allows ${methods}`;
  return problem(405, 'METHOD_NOT_ALLOWED', message, { allow: methods, ...headers });
}

export const INTERNAL = problem(
  500,
  'INTERNAL',
  'an internal error occurred; it has been logged under this request id',
);

export const UNAVAILABLE = problem(503, 'UNAVAILABLE', 'the storage cannot be reached now; try again later', {
  'retry-after': '2',
});

export const UNAUTHENTICATED = problem(
  401,
  'UNAUTHENTICATED',
  'an API key is required, as "Authorization: Bearer <API_KEY>"',
  { 'www-authenticate': 'Bearer realm="petstore"' },
);

export const TOO_LARGE = problem(413, 'PAYLOAD_TOO_LARGE', 'the body must be at most 65536 bytes');

export const URI_TOO_LONG = problem(414, 'URI_TOO_LONG', 'the URL must be at most 8192 bytes');

export const NO_METHOD = invalid('the request has no HTTP method that this service knows');

export const HEADERS_TOO_LARGE = problem(
  431,
  'HEADERS_TOO_LARGE',
  'the request line and headers must be at most 16384 bytes',
);

export const TIMEOUT = problem(408, 'REQUEST_TIMEOUT', 'the request did not end in time');

/** The expected answer of listPets when the storage has no pets. */
export const EMPTY_PAGE = success(200, '[]');

/** The expected answer to `GET /livez`. */
export const OK = success(200, '{"status":"ok"}');

/** The JSON of the first pet that a test creates with the default values of `petBody`. */
export const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';

/** The expected answer to the request that creates {@link REX}. */
export const CREATED = success(201, REX, { location: '/v1/pets/1' });

/** The headers that announce the deprecation of getPet. Every answer on the path of getPet has these headers. */
export function sunsetHeaders(base: string): Record<string, string> {
  return {
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${base}/docs#getPet>; rel="deprecation"; type="text/html"`,
  };
}
