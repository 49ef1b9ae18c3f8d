import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** How often it is looked, in milliseconds. */
const INTERVAL = 1_000;

/**
 * Reports when the process, or the system, has no file descriptor left, and when it has some again. A connection that
 * comes meanwhile is closed at once by libuv, which tells Node nothing:
 * https://github.com/libuv/libuv/blob/v1.x/src/unix/stream.c (`uv__emfile_trick`).
 *
 * @returns what ends it
 */
export function watchDescriptors(report: (isExhausted: boolean) => void): () => void {
  let wasExhausted = false;
  const timer = setInterval(() => {
    const exhausted = isExhausted();
    if (exhausted !== wasExhausted) report(exhausted);
    wasExhausted = exhausted;
  }, INTERVAL).unref();
  return () => clearInterval(timer);
}

function isExhausted(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (error) {
    // The system looks for a descriptor first: any other error means that there is one.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE';
  }
}
