import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { ROOT } from '../../test/support/process.ts';

const USAGE = `Runs the property tests of \`npm test\` with more random examples.

  npm run test:properties                  ten times as many examples as npm test, with a random seed
  npm run test:properties -- --times 100   a hundred times as many examples as npm test
                             --seed 15     the seed of an earlier run
                             FILE          only the tests of this file
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
  // No time limit, because many examples take longer than the limit of a test in `npm test`.
  const vitest = spawn('node_modules/.bin/vitest', ['run', '--testTimeout=0', ...files], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, PROPERTY_SEED: seed, PROPERTY_TIMES: times },
  });
  const [code] = (await once(vitest, 'exit')) as [number | null];
  return code ?? 1;
}
