import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { enumerate } from './enumerate.ts';
import { Recording } from './recording.ts';
import { recordLife, recordStart } from './scenario.ts';

const USAGE = `usage: npm run power-loss -- [--pets N]
Records what the service and the commands do to a disk, with strace. Then opens every state that a power cut may leave.
  --pets N  how many pets the long run adds (default: 1000, enough for checkpoints)
`;

const { values } = parseArgs({
  options: { pets: { type: 'string', default: '1000' }, help: { type: 'boolean' } },
});

async function main(): Promise<void> {
  await using disk = await temporaryDirectory('power-loss');
  await using memory = await temporaryDirectory('power-loss-states', { inMemory: true });
  const directory = join(disk.path, 'disk');
  await mkdir(directory);
  const recording = new Recording(directory);
  await recordStart(recording);
  await recordLife(recording, Number(values.pets));
  for (const { name, first, end } of recording.runs)
    print(`${String(end - first).padStart(8)} events: ${name}`);
  const startedMs = performance.now();
  const { states, refused, wrong } = await enumerate(recording, memory.path);
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  for (const [name, { states: count, why }] of refused)
    print(`${count} states of "${name}" are refused: ${why}`);
  for (const what of wrong) print(`WRONG: ${what}`);
  print(`${states} states in ${seconds} s: ${wrong.length} wrong`);
  if (wrong.length > 0) process.exitCode = 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (values.help === true) print(USAGE);
else await main();
