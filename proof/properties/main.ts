import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/process.ts';

const USAGE = `The properties of \`npm test\`, with another seed and more examples.

  npm run test:properties                  ten times as many examples, with a random seed
  npm run test:properties -- --times 100   a hundred times as many
                             --seed 15     the seed of an earlier run
                             FILE          only those of a file
`;

const { values, positionals } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    times: { type: 'string', default: '10' },
  },
  allowPositionals: true,
});

if (values.help) console.log(USAGE);
else process.exitCode = await run();

async function run(): Promise<number> {
  const { seed, times } = values;
  console.log(`seed ${seed}, ${times} times the examples of npm test`);
  const files = positionals.length > 0 ? positionals : ['.properties.test.ts', 'test/contracts'];
  // Many examples take longer than a test may take.
  const vitest = spawn('node_modules/.bin/vitest', ['run', '--testTimeout=0', ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, PROPERTY_SEED: seed, PROPERTY_TIMES: times },
  });
  const [code] = (await once(vitest, 'exit')) as [number | null];
  return code ?? 1;
}
