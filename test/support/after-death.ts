import { spawn } from 'node:child_process';

/**
 * Runs a command once this process has ended in whatever way, `kill -9` included; or `now`; or never, when it is
 * cancelled. A waiting shell holds the other end of a pipe that the kernel closes with this process. It has a
 * session of its own, so that Ctrl-C in the terminal does not reach it.
 */
export function afterDeath(command: readonly [string, ...string[]]): { cancel(): void; now(): void } {
  const waiting = spawn('sh', ['-c', 'read -r _; exec "$@"', 'sh', ...command], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  waiting.unref();
  // A pipe of a child is a socket, which the type does not say.
  if ('unref' in waiting.stdin && typeof waiting.stdin.unref === 'function') waiting.stdin.unref();
  return { cancel: () => void waiting.kill('SIGKILL'), now: () => void waiting.stdin.end() };
}
