import type {
  DamagedApiKey,
  StorageSetupError,
  StorageUnavailable,
} from '../../../application/ports/storage-errors.ts';
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
  readonly code: ErrorCode;
  readonly status: number;
  /** Headers that this refusal adds to the answer. */
  readonly headers: Headers;

  constructor(code: ErrorCode, message: string, headers: Headers = {}) {
    // No log shows the stack of a refusal, and collecting it is slow.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = ERROR_STATUS[code];
    this.headers = headers;
  }
}

type ErrorAnswer = Pick<RequestRefused, 'code' | 'message' | 'status' | 'headers'>;

/** How long a client should wait before it retries a 503, in seconds. */
export const RETRY_AFTER = { 'Retry-After': '2' } as const satisfies Headers;

/** Every known failure of the use cases and ports that a request reaches. Anything else is a bug. */
type ApplicationError = PetError | DamagedApiKey | StorageSetupError | StorageUnavailable;

export type ClientError = Extract<ApplicationError, { readonly fault: 'client' }>;

/** The codes of the client's mistakes. Clients see the error's message. A new kind fails to compile until listed. */
const CODES = {
  'invalid-pet': 'INVALID_ARGUMENT',
  'invalid-page-size': 'INVALID_ARGUMENT',
  'pet-not-found': 'PET_NOT_FOUND',
  'idempotency-key-reused': 'IDEMPOTENCY_KEY_REUSED',
} as const satisfies Record<ClientError['kind'], ErrorCode>;

const DAMAGED = 'a stored record is damaged; it has been logged under this request id';

/** What clients see of every other failure, a 503. Its own message is for operators. A new kind fails here too. */
const MESSAGES = {
  'pet-ids-exhausted': 'no ids are left for new pets; it has been logged under this request id',
  'damaged-pet': DAMAGED,
  'damaged-api-key': DAMAGED,
  'storage-setup': 'the storage refuses the record; it has been logged under this request id',
  'storage-unavailable': 'the storage cannot be reached now; try again later',
} as const satisfies Record<Exclude<ApplicationError, ClientError>['kind'], string>;

const KNOWN = { ...CODES, ...MESSAGES };

/** The answer to anything that was thrown. Reveals no details that are for operators only. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) return error;
  if (!isApplicationError(error)) {
    return answer('INTERNAL', 'an internal error occurred; it has been logged under this request id');
  }
  if (error.fault === 'client') return answer(CODES[error.kind], error.message);
  return answer('UNAVAILABLE', MESSAGES[error.kind], RETRY_AFTER);
}

function answer(code: ErrorCode, message: string, headers: Headers = {}): ErrorAnswer {
  return { code, message, status: ERROR_STATUS[code], headers };
}

function isApplicationError(error: unknown): error is ApplicationError {
  return error instanceof Error && 'kind' in error && Object.hasOwn(KNOWN, String(error.kind));
}

/** The body of an error answer: the Error schema of the specification. */
export function errorJson({ code, message, status }: ErrorAnswer): string {
  return JSON.stringify({ code, message, status });
}
