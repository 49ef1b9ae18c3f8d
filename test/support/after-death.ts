import { spawn } from 'node:child_process';

/**
 * Runs a command when this process ends in any way, `kill -9` included, or when `now` is called. `cancel` prevents
 * both. A shell waits at the other end of a pipe, which the kernel closes with this process. The shell has its own
 * session: Ctrl-C in the terminal does not reach it.
 */
export function afterDeath(command: readonly [string, ...string[]]): { cancel(): void; now(): void } {
  const waiting = spawn('sh', ['-c', 'read -r _; exec "$@"', 'sh', ...command], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  waiting.unref();
  // The pipe of a child is a socket. Its type does not say so.
  if ('unref' in waiting.stdin && typeof waiting.stdin.unref === 'function') waiting.stdin.unref();
  return { cancel: () => void waiting.kill('SIGKILL'), now: () => void waiting.stdin.end() };
}
