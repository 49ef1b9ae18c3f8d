import type {
  DamagedApiKey,
  StorageSetupError,
  StorageUnavailable,
} from '../../../application/ports/storage-errors.ts';
import type { PetError } from '../../../application/pets/errors.ts';
import type { Headers } from './answer-headers.ts';
import * as limits from './limits.ts';

/** Never change a code: clients compare codes. */
export const ERRORS = {
  INVALID_ARGUMENT: [
    400,
    'The request, a parameter or a field breaks a rule. The message names every problem.',
  ],
  MALFORMED_JSON: [400, 'The body is empty, not JSON, not UTF-8, or nested too deeply.'],
  INVALID_CURSOR: [400, 'The service did not issue this cursor.'],
  INVALID_IDEMPOTENCY_KEY: [400, 'The `Idempotency-Key` is malformed or too long.'],
  UNAUTHENTICATED: [401, 'The API key is missing or invalid.'],
  PERMISSION_DENIED: [403, 'The API key lacks the scope that the operation needs.'],
  PET_NOT_FOUND: [404, 'No animal has this id.'],
  ROUTE_NOT_FOUND: [404, 'There is nothing at this path.'],
  METHOD_NOT_ALLOWED: [
    405,
    'The path does not support this method. `Allow` lists the methods that it supports.',
  ],
  REQUEST_TIMEOUT: [
    408,
    `The headers took more than ${limits.HEADERS_TIMEOUT_MS / 1_000} s to arrive, or the request more than ` +
      `${limits.REQUEST_TIMEOUT_MS / 1_000} s.`,
  ],
  GONE: [410, 'The operation has been removed.'],
  PAYLOAD_TOO_LARGE: [413, `The body is larger than ${limits.MAX_BODY_BYTES} bytes.`],
  URI_TOO_LONG: [414, `The URL is longer than ${limits.MAX_URL_BYTES} bytes.`],
  UNSUPPORTED_MEDIA_TYPE: [415, 'The body is not `application/json` in UTF-8, or has a `Content-Encoding`.'],
  IDEMPOTENCY_KEY_REUSED: [
    422,
    'The `Idempotency-Key` was used to add a different animal. This request added nothing.',
  ],
  RATE_LIMITED: [429, 'The API key has used up its rate limit. `Retry-After` says how many seconds to wait.'],
  HEADERS_TOO_LARGE: [431, `The request line and headers are larger than ${limits.MAX_HEADERS_BYTES} bytes.`],
  INTERNAL: [500, 'An internal error. The service has logged it under the request id.'],
  UNAVAILABLE: [
    503,
    'The storage is out of reach, or a stored record is damaged. The outcome of a write is unknown.',
  ],
} as const satisfies Record<string, readonly [status: number, meaning: string]>;

export type ErrorCode = keyof typeof ERRORS;

/** Clients see the message. Only `refusals.ts` creates instances. */
export class RequestRefused extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly headers: Headers;

  constructor(code: ErrorCode, message: string, headers: Headers = {}) {
    // The error has no stack, because collecting a stack is slow and no log shows it.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.status = ERRORS[code][0];
    this.headers = headers;
  }
}

type ErrorAnswer = Pick<RequestRefused, 'code' | 'message' | 'status' | 'headers'>;

/** How long a client should wait after a 503, in seconds. */
export const RETRY_AFTER = { 'Retry-After': '2' } as const satisfies Headers;

/** An error of any other type is a bug. */
type ApplicationError = PetError | DamagedApiKey | StorageSetupError | StorageUnavailable;

export type ClientError = Extract<ApplicationError, { readonly fault: 'client' }>;

/** Clients see the messages of these errors. */
const CLIENT_CODES = {
  'invalid-pet': 'INVALID_ARGUMENT',
  'invalid-page-size': 'INVALID_ARGUMENT',
  'pet-not-found': 'PET_NOT_FOUND',
  'idempotency-key-reused': 'IDEMPOTENCY_KEY_REUSED',
} as const satisfies Record<ClientError['kind'], ErrorCode>;

const DAMAGED_RECORD = 'a stored record is damaged; it has been logged under this request id';

/** Clients see these messages. The error's own message is for operators. */
const MESSAGES_503 = {
  'pet-ids-exhausted': 'no ids are left for new pets; it has been logged under this request id',
  'damaged-pet': DAMAGED_RECORD,
  'damaged-api-key': DAMAGED_RECORD,
  'storage-setup': 'the storage refuses the record; it has been logged under this request id',
  'storage-unavailable': 'the storage cannot be reached now; try again later',
} as const satisfies Record<Exclude<ApplicationError, ClientError>['kind'], string>;

export function errorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof RequestRefused) return error;
  if (hasKind(CLIENT_CODES, error)) return answerOf(CLIENT_CODES[error.kind], error.message);
  if (hasKind(MESSAGES_503, error)) return answerOf('UNAVAILABLE', MESSAGES_503[error.kind], RETRY_AFTER);
  return answerOf('INTERNAL', 'an internal error occurred; it has been logged under this request id');
}

function answerOf(code: ErrorCode, message: string, headers: Headers = {}): ErrorAnswer {
  return { code, message, status: ERRORS[code][0], headers };
}

function hasKind<Table extends object>(table: Table, error: unknown): error is Error & { kind: keyof Table } {
  return error instanceof Error && 'kind' in error && Object.hasOwn(table, String(error.kind));
}

export function errorJson({ code, message, status }: ErrorAnswer): string {
  return JSON.stringify({ code, message, status });
}
