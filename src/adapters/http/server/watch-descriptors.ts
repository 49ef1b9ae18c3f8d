import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

const CHECK_INTERVAL_MS = 1_000;

/**
 * Reports when the process or the system runs out of file descriptors, and when one is free again. In between, libuv
 * closes each new connection at once and does not tell Node:
 * https://github.com/libuv/libuv/blob/v1.x/src/unix/stream.c (`uv__emfile_trick`).
 *
 * @returns a function that stops the reports
 */
export function watchDescriptors(report: (isExhausted: boolean) => void): () => void {
  let wasExhausted = false;
  const timer = setInterval(() => {
    const exhausted = isExhausted();
    if (exhausted !== wasExhausted) report(exhausted);
    wasExhausted = exhausted;
  }, CHECK_INTERVAL_MS).unref();
  return () => clearInterval(timer);
}

function isExhausted(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return false;
  } catch (error) {
    // The system reserves a descriptor first. Any other error means that it found one.
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE';
  }
}
