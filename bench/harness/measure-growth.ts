import { execFileSync } from 'node:child_process';
import { ROOT } from '../support/service.ts';

/** One storage with one number of pets. */
export type GrowthResult = {
  readonly pets: number;
  /** To open the storage and to read its first page. */
  readonly openMs: number;
  /** In the heap or in the file. */
  readonly bytesAPet?: number;
  /** The time of a page of 20 pets, anywhere in the catalogue. */
  readonly pageUs: number;
  /** The same with a filter. */
  readonly filteredUs: number;
};

/** Runs `bench/growth.ts` in a process of its own on the first core. */
export function measureGrowth(url: string, sizes: readonly number[]): readonly GrowthResult[] {
  const program = ['--expose-gc', '--max-old-space-size=8192', 'bench/growth.ts', url, ...sizes.map(String)];
  const output = execFileSync('taskset', ['-c', '0', process.execPath, ...program], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(output) as readonly GrowthResult[];
}
