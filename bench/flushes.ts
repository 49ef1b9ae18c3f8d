/**
 * What a disk that is slow to flush does to readers and writers: SQLite, requests per second and latencies, of readers
 * alone, of readers beside writers, and of writers alone.
 *
 *   node bench/flushes.ts [OTHER_CHECKOUT] [--flush-ms 0] [--rounds 3] [--ms 3000] [--only 'beside']
 *
 * The same job runs on Fastify with the same library. OTHER_CHECKOUT is another build, with its packages installed.
 * The files are in the directory TMPDIR. With --flush-ms, every flush takes this time longer; it needs a C compiler.
 *
 * Linux only: it pins the contestants to the first core, and itself to the second.
 */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { contestantsOn, SAME_FEATURES } from './harness/contestants.ts';
import { build, contestant, FLUSH_JOBS, measureFlushes } from './harness/measure-flushes.ts';
import { ROOT } from './support/service.ts';
import { summary } from './support/statistics.ts';

const { values, positionals } = parseArgs({
  options: {
    'flush-ms': { type: 'string', default: '0' },
    rounds: { type: 'string', default: '3' },
    ms: { type: 'string', default: '3000' },
    only: { type: 'string', default: '' },
  },
  allowPositionals: true,
});

execFileSync('taskset', ['-pc', '1', String(process.pid)], { stdio: 'ignore' });
await using directory = await temporaryDirectory('bench');
const peer = contestantsOn('sqlite').find(({ name }) => name === SAME_FEATURES)!;
const result = await measureFlushes(
  [
    build('this build', ROOT),
    ...positionals.map((other) => build('other build', resolve(other))),
    contestant(peer),
  ],
  FLUSH_JOBS.filter(({ name }) => name.includes(values.only)),
  {
    directory: directory.path,
    addedMs: Number(values['flush-ms']),
    rounds: Number(values.rounds),
    ms: Number(values.ms),
  },
);
const { flushMs } = result;
console.log(`1 / flush: ${(1000 / flushMs).toFixed(0)} a second; a flush takes ${flushMs.toFixed(2)} ms`);
for (const { name: job, readers, writers } of result.jobs) {
  for (const name of result.names) {
    const show = (figure: Parameters<typeof result.of>[2], digits: number) =>
      summary(result.of(name, job, figure), digits);
    const reads = `${show('reads', 0)} pages a second, p50 ${show('readP50Ms', 2)} ms, p99 ${show('readP99Ms', 2)} ms`;
    const creates = `${show('creates', 0)} creates per second, p50 ${show('createP50Ms', 2)} ms`;
    const figures = [...(readers > 0 ? [reads] : []), ...(writers > 0 ? [creates] : [])];
    console.log(`${job}, ${name}: ${figures.join('; ')}`);
  }
}
