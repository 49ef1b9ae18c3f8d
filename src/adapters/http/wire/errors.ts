import type { DamagedApiKey, StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import type { PetError } from '../../../application/pets/errors.ts';
import type { Headers } from './answer-headers.ts';

/** The `code` and HTTP status of every error answer. Codes are stable; clients fall back on the status. */
export const ERROR_STATUS = {
  INVALID_ARGUMENT: 400,
  MALFORMED_JSON: 400,
  INVALID_CURSOR: 400,
  INVALID_IDEMPOTENCY_KEY: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  PET_NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  GONE: 410,
  PAYLOAD_TOO_LARGE: 413,
  URI_TOO_LONG: 414,
  UNSUPPORTED_MEDIA_TYPE: 415,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  UNAVAILABLE: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** The HTTP layer refuses a request. Clients see the message. Only `refusals.ts` creates one. */
export class RequestRefused extends Error {
  readonly kind = 'request-refused';
  readonly code: ErrorCode;
  /** Headers that this refusal adds to the answer. */
  readonly headers: Headers;

  constructor(code: ErrorCode, message: string, headers: Headers = {}) {
    // No log shows the stack of a refusal, and collecting it is slow.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'RequestRefused';
    this.code = code;
    this.headers = headers;
  }
}

export type ErrorAnswer = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly headers: Headers;
};

type Mapping = {
  readonly code: ErrorCode;
  /** Replaces the message of the error, which is for operators. Absent where the message is for clients. */
  readonly message?: string;
  readonly headers?: Headers;
};

/** How long a client should wait before it retries a 503, in seconds. */
export const RETRY_AFTER = { 'Retry-After': '2' } as const satisfies Headers;

const INTERNAL: Mapping = {
  code: 'INTERNAL',
  message: 'an internal error occurred; it has been logged under this request id',
};
const DAMAGED: Mapping = {
  code: 'UNAVAILABLE',
  message: 'a stored record is damaged; it has been logged under this request id',
  headers: RETRY_AFTER,
};

/** Every known failure of the use cases and ports that a request reaches. Anything else is a bug. */
type ApplicationError = PetError | DamagedApiKey | StorageUnavailable;

/** The answer to each failure of the application. A new kind fails to compile until it is listed. */
const ANSWERS = {
  'invalid-pet': { code: 'INVALID_ARGUMENT' },
  'invalid-page-size': { code: 'INVALID_ARGUMENT' },
  'pet-not-found': { code: 'PET_NOT_FOUND' },
  'pet-ids-exhausted': {
    code: 'UNAVAILABLE',
    message: 'no ids are left for new pets; it has been logged under this request id',
    headers: RETRY_AFTER,
  },
  'idempotency-key-reused': { code: 'IDEMPOTENCY_KEY_REUSED' },
  'damaged-pet': DAMAGED,
  'damaged-api-key': DAMAGED,
  'storage-unavailable': {
    code: 'UNAVAILABLE',
    message: 'the storage cannot be reached now; try again later',
    headers: RETRY_AFTER,
  },
} satisfies Record<ApplicationError['kind'], Mapping>;

/** The answer to anything that was thrown. Reveals no details that are for operators only. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) return answer(error, error);
  if (!isApplicationError(error)) return answer(INTERNAL, error);
  return answer(ANSWERS[error.kind], error);
}

function answer({ code, message, headers = {} }: Mapping, error: unknown): ErrorAnswer {
  return { code, message: message ?? (error as Error).message, status: ERROR_STATUS[code], headers };
}

function isApplicationError(error: unknown): error is ApplicationError {
  return error instanceof Error && 'kind' in error && Object.hasOwn(ANSWERS, error.kind as string);
}

/** The body of an error answer: the Error schema of the specification. */
export function errorJson({ code, message, status }: ErrorAnswer): string {
  return JSON.stringify({ code, message, status });
}
