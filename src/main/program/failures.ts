import type { PetFileError } from '../../adapters/ndjson/pet-file.ts';
import type { ApiKeyError } from '../../application/keys/errors.ts';
import type { ArchiveError } from '../../application/moving/errors.ts';
import type { PetError } from '../../application/pets/errors.ts';
import type { StorageSetupError, StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { InvalidConfig } from '../config/config.ts';
import { countText } from '../config/forms.ts';

/** What a command can fail with, except for bugs. The message is one line and holds no secrets. */
type Failure =
  | ApiKeyError
  | ArchiveError
  | InvalidConfig
  | OutputError
  | PetError
  | PetFileError
  | StorageSetupError
  | StorageUnavailable
  | StorageUnsound
  | UsageError
  | WorkerStartError;

const FAILED = 1;
const WRONG_USAGE = 2;
/** 128 + SIGPIPE: what shells report for a program that a reader such as `head` has left. */
const READER_GONE = 141;

/** A new kind of failure fails to compile until it is listed. */
const EXIT_CODES: ReadonlyMap<unknown, number> = new Map(
  Object.entries({
    'api-key-id-taken': FAILED,
    'api-key-not-active': FAILED,
    'api-key-not-found': FAILED,
    'counts-differ': FAILED,
    'damaged-api-key': FAILED,
    'damaged-pet': FAILED,
    'idempotency-key-reused': FAILED,
    'idempotency-key-taken': FAILED,
    'invalid-api-key': WRONG_USAGE,
    'invalid-config': FAILED,
    'invalid-page-size': FAILED,
    'invalid-pet': FAILED,
    output: FAILED,
    'pet-file': FAILED,
    'pet-id-taken': FAILED,
    'pet-ids-exhausted': FAILED,
    'pet-not-found': FAILED,
    'storage-setup': FAILED,
    'storage-unavailable': FAILED,
    'storage-unsound': FAILED,
    'too-few-pet-ids': FAILED,
    usage: WRONG_USAGE,
    'worker-start': FAILED,
  } satisfies Record<Failure['kind'], number>),
);

/** Where an address fails. Workers report `bind`. */
const LISTEN_CALLS = new Set(['listen', 'bind', 'getaddrinfo']);

export type Explanation = { readonly lines: readonly string[]; readonly exitCode: number };

/**
 * A problem that an operator can fix takes one line. A bug shows its stack. A reader that is gone is no problem.
 *
 * @param help the command line that prints the help of the command
 */
export function explain(error: unknown, help: string): Explanation {
  if (!(error instanceof Error)) return { lines: [String(error)], exitCode: FAILED };
  if (error instanceof InvalidConfig || error instanceof WorkerStartError)
    return { lines: error.problems, exitCode: FAILED };
  if (error instanceof OutputError && error.isReaderGone) return { lines: [], exitCode: READER_GONE };
  const exitCode = 'kind' in error ? EXIT_CODES.get(error.kind) : undefined;
  if (exitCode === WRONG_USAGE) {
    return { lines: [`${oneLine(error)}; see ${help}`], exitCode };
  }
  if (exitCode !== undefined) return { lines: [oneLine(error)], exitCode };
  if ('syscall' in error && LISTEN_CALLS.has(String(error.syscall))) {
    return { lines: [`cannot listen on HOST and PORT: ${oneLine(error)}`], exitCode: FAILED };
  }
  return { lines: [error.stack ?? error.message], exitCode: FAILED };
}

/** A message can quote a value with line breaks, such as a file name or HOST. */
function oneLine({ message }: Error): string {
  return message.replaceAll(/\s+/g, ' ');
}

/** Standard output cannot be written: its reader is gone, or the disk is full. */
export class OutputError extends Error {
  readonly kind = 'output';
  /** Such as `head`, which has read enough. */
  readonly isReaderGone: boolean;

  constructor(cause: Error) {
    super(`standard output cannot be written: ${cause.message}`, { cause });
    this.name = 'OutputError';
    this.isReaderGone = 'code' in cause && cause.code === 'EPIPE';
  }
}

/** The command line is wrong. The message is one line. It repeats no value, because a value may be a secret. */
export class UsageError extends Error {
  readonly kind = 'usage';

  constructor(problem: string) {
    super(problem);
    this.name = 'UsageError';
  }
}

/** `check` has found something. The findings are on standard output. */
export class StorageUnsound extends Error {
  readonly kind = 'storage-unsound';

  constructor(findings: number) {
    super(`the storage has ${countText(findings, 'problem')}; see docs/storage.md#check-a-storage`);
    this.name = 'StorageUnsound';
  }
}

/** A worker process could not start. Has one printable text for each problem. */
export class WorkerStartError extends Error {
  readonly kind = 'worker-start';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'WorkerStartError';
    this.problems = problems;
  }
}
