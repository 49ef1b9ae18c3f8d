import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { searchStates } from './enumerate.ts';
import { LIVES, recordGrowth, recordStart } from './lives.ts';
import { Recording } from './recording.ts';
import { type LifeResult, searchLife } from './search-lives.ts';

const USAGE = `usage: npm run power-loss -- [--life NAME]
A life is a sequence of runs of the service and of its commands on one database. strace records what the runs do to the
disk, also when a write-back (the kernel writes cached pages to the disk) fails. Then the service opens every state of the
files that a power cut or the failure may leave. Needs strace and cc.
  --life NAME  searches one life: ${Object.keys(LIVES).join(', ')}
`;

const { values } = parseArgs({ options: { life: { type: 'string' }, help: { type: 'boolean' } } });

async function main(names: readonly string[]): Promise<void> {
  await using diskDirectory = await temporaryDirectory('power-loss');
  await using memoryDirectory = await temporaryDirectory('power-loss-states', { inMemory: true });
  const directory = join(diskDirectory.path, 'disk');
  await mkdir(directory);
  const pastRuns = new Recording(directory);
  await recordStart(pastRuns);
  const openedRuns = new Set<string>();
  let [stateCount, problemCount] = [0, 0];
  const report = (name: string, { lives, states, problems }: LifeResult) => {
    for (const problem of problems) print(`WRONG: ${problem}`);
    const seconds = (performance.now() / 1_000).toFixed(0).padStart(5);
    print(`${seconds} s: ${name}: ${lives} lives, ${states} states, ${problems.length} wrong`);
    [stateCount, problemCount] = [stateCount + states, problemCount + problems.length];
  };
  report('a first start', { lives: 1, ...(await searchStates(pastRuns, memoryDirectory.path)) });
  await recordGrowth(pastRuns);
  for (const name of names) report(name, await searchLife(name, pastRuns, memoryDirectory.path, openedRuns));
  print(`${stateCount} states: ${problemCount} wrong`);
  if (problemCount > 0) process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (values.help === true) print(USAGE);
else await main(values.life === undefined ? Object.keys(LIVES) : [values.life]);
