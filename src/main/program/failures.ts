import { faultOf } from '../../domain/fault.ts';
import { InvalidApiKey } from '../../domain/api-key.ts';
import { StartError } from '../config/config.ts';
import { countText } from '../config/forms.ts';

const EXIT_FAILED = 1;
const EXIT_WRONG_USAGE = 2;
/** 128 + SIGPIPE: a shell reports this when the reader, such as `head`, has left. */
const EXIT_READER_GONE = 141;

/**
 * Returns a line per problem that an operator can fix, the stack for a bug, and no line if the reader of standard
 * output has left.
 *
 * @param help the command line that prints the help of the command
 */
export function explain(error: unknown, help: string) {
  if (!(error instanceof Error)) return { lines: [String(error)], exitCode: EXIT_FAILED };
  if (error instanceof StartError) return { lines: error.problems, exitCode: EXIT_FAILED };
  if (error instanceof OutputError && error.isReaderGone) return { lines: [], exitCode: EXIT_READER_GONE };
  if (error instanceof UsageError || error instanceof InvalidApiKey) {
    return { lines: [`${oneLine(error)}; see ${help}`], exitCode: EXIT_WRONG_USAGE };
  }
  if (faultOf(error) !== 'bug') return { lines: [oneLine(error)], exitCode: EXIT_FAILED };
  return { lines: [error.stack ?? error.message], exitCode: EXIT_FAILED };
}

/** A message can quote a file name with line breaks. */
function oneLine({ message }: Error): string {
  return message.replaceAll(/\s+/g, ' ');
}

/** The reader of standard output has left, or the disk is full. */
export class OutputError extends Error {
  readonly fault = 'operator';
  readonly isReaderGone: boolean;

  constructor(cause: Error) {
    super(`standard output cannot be written: ${cause.message}`, { cause });
    this.isReaderGone = 'code' in cause && cause.code === 'EPIPE';
  }
}

/** The message is one line without values, because a value may be a secret. */
export class UsageError extends Error {
  readonly fault = 'client';
}

/** `check` has printed the findings to standard output. */
export class StorageUnsound extends Error {
  readonly fault = 'operator';

  constructor(problemCount: number) {
    super(
      `the storage has ${countText(problemCount, 'problem')}; repair the damaged records in the storage, or restore a backup`,
    );
  }
}
