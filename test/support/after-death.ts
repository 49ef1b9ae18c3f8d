import { spawn } from 'node:child_process';

/**
 * Runs a command when this process ends, even by `kill -9`, or earlier when `now` is called. `cancel` prevents the
 * command. A shell waits for the end of its input, which is a pipe from this process, and then runs the command. The
 * kernel closes the pipe when this process ends. The shell has a session of its own, which Ctrl-C does not reach.
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
