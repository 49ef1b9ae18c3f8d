import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { type Enumerated, enumerate } from './enumerate.ts';
import { LIVES, recordGrowth, recordStart } from './lives.ts';
import { Recording } from './recording.ts';
import { searchLife } from './search-lives.ts';

const USAGE = `usage: npm run power-loss -- [--life NAME]
Records what the service and the commands do to a disk, with strace, also when a write-back fails. Then opens every state
that a power cut or the failure may leave. Needs strace and cc.
  --life NAME  only one of: ${Object.keys(LIVES).join(', ')}
`;

const { values } = parseArgs({ options: { life: { type: 'string' }, help: { type: 'boolean' } } });

async function main(names: readonly string[]): Promise<void> {
  await using disk = await temporaryDirectory('power-loss');
  await using memory = await temporaryDirectory('power-loss-states', { inMemory: true });
  const directory = join(disk.path, 'disk');
  await mkdir(directory);
  const past = new Recording(directory);
  await recordStart(past);
  const opened = new Set<string>();
  let [states, wrong] = [0, 0];
  const report = (name: string, found: Enumerated & { readonly lives: number }) => {
    for (const what of found.wrong) print(`WRONG: ${what}`);
    const seconds = (performance.now() / 1_000).toFixed(0).padStart(5);
    print(`${seconds} s: ${name}: ${found.lives} lives, ${found.states} states, ${found.wrong.length} wrong`);
    [states, wrong] = [states + found.states, wrong + found.wrong.length];
  };
  report('a first start', { lives: 1, ...(await enumerate(past, memory.path)) });
  await recordGrowth(past);
  for (const name of names) report(name, await searchLife(name, past, memory.path, opened));
  print(`${states} states: ${wrong} wrong`);
  if (wrong > 0) process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (values.help === true) print(USAGE);
else await main(values.life === undefined ? Object.keys(LIVES) : [values.life]);
