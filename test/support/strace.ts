import { spawnSync } from 'node:child_process';
import { readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { type Program, run, SERVICE, SERVICE_ENV } from './process.ts';
import { testDirectory } from './test-directory.ts';

/** Why tests that use strace are skipped; `undefined` where it works. */
export const STRACE_MISSING =
  spawnSync('strace', ['-f', 'true']).status === 0 ? undefined : 'strace is missing or not permitted';

const CALLS = 'mkdir,write,writev,pwrite64,fsync,fdatasync,link,linkat,rename,renameat2,unlink,unlinkat';

/** A run of the service or of a command under strace. */
export type TracedRun = {
  readonly program: Program;
  /**
   * The system calls so far on files in this directory, in the order in which they ended: for example
   * `fsync petstore.db`. An answer of the service is `answer 201`.
   */
  readonly calls: (directory: string) => readonly string[];
};

/**
 * Runs the service or a command under strace, with one thread for files, so that calls can be counted.
 *
 * @param inject what strace does to a system call: https://man7.org/linux/man-pages/man1/strace.1.html
 */
export async function runTraced(
  args: readonly string[],
  {
    env = {},
    inject,
    cwd,
  }: { readonly env?: Record<string, string>; readonly inject?: string; readonly cwd?: string } = {},
): Promise<TracedRun> {
  const output = join(await testDirectory(), 'strace');
  const options = ['-f', '-y', '-s', '16', '-o', output, '-e', `trace=${CALLS}`];
  const injection = inject === undefined ? [] : ['-e', `inject=${inject}`];
  const command = [process.execPath, join(import.meta.dirname, '../..', SERVICE[0]), ...args];
  const program = run(
    'strace',
    [...options, ...injection, ...command],
    { ...SERVICE_ENV, UV_THREADPOOL_SIZE: '1', ...env },
    cwd,
  );
  return { program, calls: (directory) => callsIn(readFileSync(output, 'utf8'), realpathSync(directory)) };
}

function callsIn(text: string, directory: string): readonly string[] {
  const beginnings = new Map<string, string>();
  const calls: string[] = [];
  for (const line of text.split('\n')) {
    const [, pid = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const [, beginning] = /^(.*) <unfinished \.\.\.>$/.exec(rest) ?? [];
    // An answer is listed at the beginning of its call, because it may reach the client before the call ends.
    if (beginning?.includes('"HTTP/1.1 ')) calls.push(describeCall(beginning, directory));
    else if (beginning !== undefined) beginnings.set(pid, beginning);
    else {
      const [, end] = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest) ?? [];
      calls.push(describeCall(end === undefined ? rest : `${beginnings.get(pid) ?? ''}${end}`, directory));
      beginnings.delete(pid);
    }
  }
  // Equal calls in a row, such as many writes to one file, are listed once.
  return calls.filter((call) => call !== '').filter((call, n, all) => call !== all[n - 1]);
}

/** Describes a system call. The result is empty if the call failed, or if it uses no file in the directory. */
function describeCall(line: string, directory: string): string {
  const [, call = ''] = /^(\w+)\(/.exec(line) ?? [];
  const [, status] = /"HTTP\/1\.1 (\d+)/.exec(line) ?? [];
  if (status !== undefined) return `answer ${status}`;
  if (/ = -1 |^\S+ = \?/.test(line)) return '';
  const paths = [...line.replaceAll(/AT_FDCWD<[^>]*>/g, '').matchAll(/["<](\/[^">]*)/g)].map(
    ([, path = '']) => path,
  );
  const pathsInside = paths.filter((path) => `${path}/`.startsWith(`${directory}/`));
  if (pathsInside.length === 0) return '';
  return [
    call.replace('fdatasync', 'fsync'),
    ...pathsInside.map((path) => path.slice(directory.length + 1) || '.'),
  ].join(' ');
}
