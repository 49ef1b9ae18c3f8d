import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

let tickUs: number | undefined;

/** The CPU time of a process and its threads so far, in microseconds. Linux only: it reads /proc. */
export function cpuUsOf(pid: number): number {
  // The unit of /proc/PID/stat.
  tickUs ??= 1e6 / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickUs;
}
