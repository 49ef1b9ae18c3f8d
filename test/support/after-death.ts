import { spawn } from 'node:child_process';

/**
 * Starts a shell that runs a command when this process ends, even when `kill -9` ends this process. The shell waits for
 * the end of its input, which is a pipe from this process. The kernel closes the pipe when this process ends. The shell
 * has a session of its own, so Ctrl-C in the terminal does not end the shell.
 *
 * @returns `cancel`, which ends the shell without the command, and `now`, which lets the shell run the command now
 */
export function runAtProcessEnd(command: readonly [string, ...string[]]): { cancel(): void; now(): void } {
  const shell = spawn('sh', ['-c', 'read -r _; exec "$@"', 'sh', ...command], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.unref();
  // At run time `stdin` is a socket, which has `unref`. Its type does not have this method.
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref();
  return { cancel: () => void shell.kill('SIGKILL'), now: () => void shell.stdin.end() };
}
