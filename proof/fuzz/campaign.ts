import { Catalogue } from './catalogue.ts';
import type { FuzzCase } from './fuzz-case.ts';
import type { Address } from './fuzz-client.ts';
import { judge } from './judge.ts';
import { makeCase } from './make-case.ts';
import { play } from './play.ts';
import { noteReached, type ReachedStates } from '../states.ts';
import { SaneClient } from './sane-client.ts';

/** The number of cases that are played between two checks of the stored pets. */
const CASES_PER_ROUND = 1_000;

/** The number of cases that are played at the same time. */
const PARALLEL_CASES = 8;

export type Finding = {
  /** The number of the case. If the stored pets are wrong, it is the number of the first case of the round. */
  readonly number: number;
  /** How many cases must be played to see the problems again: one case, or the cases of a round. */
  readonly cases: number;
  readonly problems: readonly string[];
};

export type Progress = {
  requests: number;
  answers: number;
  cases: number;
  pets: number;
  reached: ReachedStates;
};

export type CampaignOptions = {
  readonly address: Address;
  readonly seed: number;
  /** The number of the first case. Default: 0. */
  readonly first?: number;
  /** Whether the campaign stops. Called before each round. */
  readonly isOver: (progress: Progress) => boolean;
  /** Called after each round, when all connections of its cases have ended. */
  readonly afterRound?: (progress: Progress) => void;
  /** The number of cases in each round. Default: 1,000. */
  readonly casesPerRound?: number;
};

/** Plays the cases of a seed in rounds. Ends after a round with findings, or when `isOver` returns true. */
export async function campaign(
  options: CampaignOptions,
): Promise<Progress & { readonly findings: readonly Finding[] }> {
  const { address, seed, first = 0, isOver, afterRound, casesPerRound = CASES_PER_ROUND } = options;
  using saneClient = new SaneClient(address);
  const catalogue = await Catalogue.begin(saneClient);
  const progress: Progress = { requests: 0, answers: 0, cases: 0, pets: 0, reached: new Map() };
  const findings: Finding[] = [];
  while (findings.length === 0 && !isOver(progress)) {
    const firstOfRound = first + progress.cases;
    const endOfRound = firstOfRound + casesPerRound;
    let next = firstOfRound;
    const playCases = async () => {
      while (next < endOfRound) {
        const number = next++;
        const { fuzzCase, requestCount } = makeCase(seed, number);
        const verdict = judge(fuzzCase, await play(fuzzCase, address, saneClient));
        catalogue.note(verdict);
        noteReached(progress.reached, verdict.reachedStates, number);
        progress.requests += requestCount;
        progress.answers += verdict.answerCount;
        if (verdict.problems.length > 0) findings.push({ number, cases: 1, problems: verdict.problems });
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_CASES }, playCases));
    const problems = await catalogue.check();
    if (problems.length > 0) findings.push({ number: firstOfRound, cases: casesPerRound, problems });
    progress.cases += casesPerRound;
    progress.pets = catalogue.size;
    afterRound?.(progress);
  }
  return { ...progress, findings };
}

/** Plays one case, with no other case at the same time. Resolves with its problems. */
export async function playAlone(fuzzCase: FuzzCase, address: Address): Promise<readonly string[]> {
  using saneClient = new SaneClient(address);
  const catalogue = await Catalogue.begin(saneClient);
  const verdict = judge(fuzzCase, await play(fuzzCase, address, saneClient));
  catalogue.note(verdict);
  return [...verdict.problems, ...(await catalogue.check())];
}
