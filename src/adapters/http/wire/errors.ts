import { DamagedApiKey } from '../../../application/keys/errors.ts';
import { DamagedPet, type PetError } from '../../../application/pets/errors.ts';
import type { StorageUnavailable } from '../../../application/ports/storage-errors.ts';

/** Every `code` that an error answer can carry, with its HTTP status. Stable; clients fall back on the status. */
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

/** Name and value in turn. */
type Headers = readonly string[];

/** The HTTP layer itself refuses a request. Its message is meant for the client. */
export class RequestRefused extends Error {
  readonly kind = 'request-refused';
  readonly code: ErrorCode;
  readonly headers: Headers;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly headers?: Headers; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'RequestRefused';
    this.code = code;
    this.headers = options.headers ?? [];
  }
}

/** Everything that a use case or a port that a request reaches is known to fail with. Anything else is a bug. */
type ApplicationError = PetError | DamagedApiKey | StorageUnavailable;

/** How each failure of the application is answered. A new kind does not compile until it stands here. */
const CODE_OF_KIND = {
  'invalid-pet': 'INVALID_ARGUMENT',
  'invalid-page-size': 'INVALID_ARGUMENT',
  'pet-not-found': 'PET_NOT_FOUND',
  'pet-ids-exhausted': 'INTERNAL',
  'idempotency-key-reused': 'IDEMPOTENCY_KEY_REUSED',
  'damaged-pet': 'UNAVAILABLE',
  'damaged-api-key': 'UNAVAILABLE',
  'storage-unavailable': 'UNAVAILABLE',
} satisfies Record<ApplicationError['kind'], ErrorCode>;

/** After how many seconds a client may try again, as a header. */
export const RETRY_AFTER = ['Retry-After', '2'] as const;

export type ErrorAnswer = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status: number;
  readonly headers: Headers;
};

/** The answer to whatever was thrown. What only the operator may know stays out of it. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) return answer(error.code, error.message, error.headers);
  const code = isApplicationError(error) ? CODE_OF_KIND[error.kind] : 'INTERNAL';
  if (code === 'INTERNAL')
    return answer(code, 'the service made an error; it has been logged under this request id');
  if (error instanceof DamagedPet || error instanceof DamagedApiKey) {
    return answer(code, 'a stored record is damaged; it has been logged under this request id', RETRY_AFTER);
  }
  if (code === 'UNAVAILABLE') {
    return answer(code, 'the storage cannot be reached now; try again later', RETRY_AFTER);
  }
  return answer(code, (error as Error).message);
}

function answer(code: ErrorCode, message: string, headers: Headers = []): ErrorAnswer {
  return { code, message, status: ERROR_STATUS[code], headers };
}

function isApplicationError(error: unknown): error is ApplicationError {
  return error instanceof Error && 'kind' in error && Object.hasOwn(CODE_OF_KIND, error.kind as string);
}

/** The body of an error answer: the specification's Error. */
export function errorJson({ code, message, status }: ErrorAnswer): string {
  return JSON.stringify({ code, message, status });
}
