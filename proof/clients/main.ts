import { writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { GENERATORS } from './generators.ts';
import { judgeNames } from './names.ts';
import { play } from './play.ts';
import { postman } from './postman.ts';
import { prism } from './prism.ts';
import { schemathesis } from './schemathesis.ts';
import { install, missingPrograms, type Tool } from './tools.ts';

const USAGE = `The suite of the clients: generates, compiles and runs them against the service.

  npm run test:clients                  every generator and tool; the first run installs them in a cache
  npm run test:clients -- --only orval  only generators and tools whose name contains orval
                          --report FILE writes the counts as JSON, in the format of a report of vitest

A generator whose language is not on this machine is left out, with a line that says so.
`;

type Trial = { readonly name: string; readonly needs: readonly Tool[]; readonly run: () => Promise<void> };

const TRIALS: readonly Trial[] = [
  ...Object.entries(GENERATORS).map(([name, generator]) => ({
    name,
    needs: generator.needs,
    run: () => play(name, generator),
  })),
  { name: 'kin-openapi', needs: ['go'], run: () => judgeNames('kin-openapi', 'go run .') },
  { name: 'php', needs: ['php'], run: () => judgeNames('php', 'php main.php') },
  { name: 'prism', needs: ['npm'], run: prism },
  { name: 'postman', needs: ['npm'], run: postman },
  { name: 'schemathesis', needs: ['python'], run: schemathesis },
];

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    report: { type: 'string' },
  },
});

const counts = { passed: 0, failed: 0, 'left out': 0 };

async function main(): Promise<void> {
  const trials = TRIALS.filter(({ name }) => name.includes(values.only));
  const missing = new Map(
    await Promise.all(trials.map(async (trial) => [trial, await missingPrograms(trial.needs)] as const)),
  );
  const possible = trials.filter((trial) => missing.get(trial)?.length === 0);
  await install(new Set(possible.flatMap(({ needs }) => needs)));

  // Several workers take trials from one iterator, so each trial runs once.
  const remainingTrials = trials.values();
  const work = async () => {
    for (const trial of remainingTrials) {
      const programs = missing.get(trial) ?? [];
      if (programs.length === 0) await attempt(trial);
      else leaveOut(trial, programs);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts['left out']} skipped`);
  if (values.report !== undefined) await writeFile(values.report, JSON.stringify(report()));
  // A run in which no trial passed proves nothing, so it fails.
  if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
}

async function attempt({ name, run }: Trial): Promise<void> {
  const begun = performance.now();
  const outcome = await run().then(
    () => 'passed' as const,
    (error: unknown) => {
      console.log(`\n${error instanceof Error ? error.message : String(error)}\n`);
      return 'failed' as const;
    },
  );
  counts[outcome]++;
  console.log(`${outcome.padEnd(8)} ${name} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
}

function leaveOut({ name }: Trial, missingNames: readonly string[]): void {
  counts['left out']++;
  console.log(`LEFT OUT ${name}: this machine has no ${missingNames.join(', no ')}`);
}

function report(): object {
  return {
    success: counts.failed === 0,
    numPassedTests: counts.passed,
    numFailedTests: counts.failed,
    numPendingTests: counts['left out'],
  };
}

if (values.help) process.stdout.write(USAGE);
else await main();
