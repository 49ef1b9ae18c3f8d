/**
 * From the start of the process to its first answer: the sources in a clone, the npm package and the executable, one
 * after the other, each time with a new SQLite file. Linux only.
 *
 *   node bench/start-forms.ts [ROUNDS]       11 by default
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { type Contestant, start } from './harness/contestants.ts';
import { median } from './harness/samples.ts';
import { ROOT } from './support/service.ts';

const ROUNDS = Number(process.argv[2] ?? 11);

await using directory = await temporaryDirectory('forms');
const built = join(directory.path, 'dist');
const sea = join(directory.path, 'dist-sea');
execFileSync(process.execPath, ['scripts/build.ts', built], { cwd: ROOT });
execFileSync(process.execPath, ['scripts/build-sea.ts', sea], { cwd: ROOT });

const FORMS: readonly Contestant[] = [
  { name: 'clone', program: 'bin/petstore', isCommand: true, paging: 'cursor' },
  { name: 'npm package', program: join(built, 'bin/petstore'), isCommand: true, paging: 'cursor' },
  { name: 'executable', program: join(sea, 'petstore'), isCommand: true, paging: 'cursor' },
];
const figures = FORMS.map((form) => ({
  form,
  wallMs: [] as number[],
  cpuMs: [] as number[],
  residentMib: [] as number[],
}));

for (let round = 0; round <= ROUNDS; round++) {
  for (const [index, { form, wallMs, cpuMs, residentMib }] of figures.entries()) {
    const running = await start(form, `sqlite:${directory.path}/${index}-${round}.db`);
    // The first start compiles.
    if (round > 0) {
      wallMs.push(running.startMs);
      cpuMs.push(running.cpuUs() / 1000);
      residentMib.push(running.residentBytes() / 2 ** 20);
    }
    await running.stop('SIGTERM');
  }
}

for (const { form, wallMs, cpuMs, residentMib } of figures) {
  console.log(
    `${form.name}: ${median(wallMs).toFixed(0)} ms (least ${Math.min(...wallMs).toFixed(0)}), ` +
      `${median(cpuMs).toFixed(0)} ms of CPU, ${median(residentMib).toFixed(0)} MiB`,
  );
}
