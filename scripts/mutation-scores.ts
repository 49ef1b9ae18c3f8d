import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';

const PAGE = 'proof/mutation/results.md';

/** The part of Stryker's report that is used here. https://github.com/stryker-mutator/mutation-testing-elements */
export type MutationReport = {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>;
  readonly testFiles: Readonly<Record<string, { readonly tests: readonly Test[] }>>;
};

type Mutant = {
  readonly status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'RuntimeError';
  /** The ids of tests. All of them if Stryker ran without bail, else the first. */
  readonly killedBy?: readonly string[];
};

type Test = { readonly id: string; readonly name: string };

/** Replaces the rows of the folders that reports/mutation has results of. For each file, the newest report counts. */
export function writeScores(): void {
  const rows = new Map<string, string>();
  const page = readFileSync(PAGE, 'utf8');
  for (const [row, folder] of page.matchAll(/^\| `src\/(.*?)` \|.*$/gm)) rows.set(folder!, row);
  for (const [folder, files] of newestResults()) rows.set(folder, rowOf(folder, files));
  const table = [...rows]
    .toSorted(([a], [b]) => order(a) - order(b) || (a < b ? -1 : 1))
    .map(([, row]) => row);
  writeFileSync(PAGE, page.replace(/(?<=^\|---.*\n)(?:\| `src\/.*\n)*/m, `${table.join('\n')}\n`));
}

/** The mutants of each measured file of each folder. */
function newestResults(): ReadonlyMap<string, readonly (readonly Mutant[])[]> {
  const reports = globSync('reports/mutation/*.json').toSorted(
    (a, b) => statSync(a).mtimeMs - statSync(b).mtimeMs,
  );
  const files = new Map<string, readonly Mutant[]>();
  for (const path of reports) {
    const report = JSON.parse(readFileSync(path, 'utf8')) as MutationReport;
    for (const [file, { mutants }] of Object.entries(report.files)) files.set(file, mutants);
  }
  const existing = [...files].filter(([file]) => existsSync(file));
  const folders = Map.groupBy(existing, ([file]) => /^src\/(adapters\/\w+|\w+)/.exec(file)![1]!);
  return new Map(Array.from(folders, ([folder, found]) => [folder, found.map(([, mutants]) => mutants)]));
}

function rowOf(folder: string, files: readonly (readonly Mutant[])[]): string {
  const mutants = files.flat();
  const count = (status: Mutant['status']) => mutants.filter((mutant) => mutant.status === status).length;
  const [killed, timeout, survived, uncovered, errors] = [
    count('Killed'),
    count('Timeout'),
    count('Survived'),
    count('NoCoverage'),
    count('RuntimeError'),
  ];
  const found = killed + timeout;
  const score = ((100 * found) / (found + survived + uncovered)).toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  const all = globSync(`src/${folder}/**/*.ts`).length;
  return `| \`src/${folder}\` | ${files.length} of ${all} | ${score} % | ${killed} | ${timeout} | ${survived} | ${uncovered} | ${errors} | ${date} |`;
}

/** From the inside outwards. */
function order(folder: string): number {
  return ['domain', 'application', 'adapters'].indexOf(folder.split('/')[0]!);
}
