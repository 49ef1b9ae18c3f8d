import { faultOf } from '../../application/ports/fault.ts';
import { InvalidApiKey } from '../../domain/api-key.ts';
import { InvalidConfig } from '../config/config.ts';
import { OutputError } from './output-error.ts';
import { WorkerStartError } from '../service/worker-start-error.ts';
import { UsageError } from './usage-error.ts';

const FAILED = 1;
const WRONG_USAGE = 2;
/** 128 + SIGPIPE: what shells report for a program that a reader such as `head` has left. */
const READER_GONE = 141;

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
  if (error instanceof UsageError || error instanceof InvalidApiKey) {
    return { lines: [`${oneLine(error)}; see ${help}`], exitCode: WRONG_USAGE };
  }
  if (faultOf(error) !== 'bug') return { lines: [oneLine(error)], exitCode: FAILED };
  if ('syscall' in error && LISTEN_CALLS.has(String(error.syscall))) {
    return { lines: [`cannot listen on HOST and PORT: ${oneLine(error)}`], exitCode: FAILED };
  }
  return { lines: [error.stack ?? error.message], exitCode: FAILED };
}

/** A message can quote a value with line breaks, such as a file name or HOST. */
function oneLine({ message }: Error): string {
  return message.replaceAll(/\s+/g, ' ');
}
