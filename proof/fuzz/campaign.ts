import { Catalogue } from './catalogue.ts';
import type { FuzzCase } from './fuzz-case.ts';
import type { Address } from './fuzz-client.ts';
import { judge } from './judge.ts';
import { makeCase } from './make-case.ts';
import { play } from './play.ts';
import { noteReached, type ReachedStates } from '../states.ts';
import { SaneClient } from './sane-client.ts';

/** How many cases are played between two looks at the catalogue. */
const CASES_A_ROUND = 1_000;

/** How many cases are played at once. */
const LANES = 8;

export type Finding = {
  /** The number of the case, or of the first case since the last look at the catalogue. */
  readonly number: number;
  /** How many cases it takes to replay it. */
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
  /** The number of the first case. 0 by default. */
  readonly first?: number;
  /** When to stop. Looked at between two rounds. */
  readonly isOver: (progress: Progress) => boolean;
  /** Called after each round, when the clients have left. */
  readonly afterRound?: (progress: Progress) => void;
  /** At most this many cases a round. */
  readonly casesARound?: number;
};

/** Plays the cases of a seed, round by round, until it is over or a round has findings. */
export async function campaign(
  options: CampaignOptions,
): Promise<Progress & { readonly findings: readonly Finding[] }> {
  const { address, seed, first = 0, isOver, afterRound, casesARound = CASES_A_ROUND } = options;
  using sane = new SaneClient(address);
  const catalogue = await Catalogue.begin(sane);
  const progress: Progress = { requests: 0, answers: 0, cases: 0, pets: 0, reached: new Map() };
  const findings: Finding[] = [];
  while (findings.length === 0 && !isOver(progress)) {
    const begin = first + progress.cases;
    const end = begin + casesARound;
    let next = begin;
    const lane = async () => {
      while (next < end) {
        const number = next++;
        const { fuzzCase, requests } = makeCase(seed, number);
        const verdict = judge(fuzzCase, await play(fuzzCase, address, sane));
        catalogue.note(verdict);
        noteReached(progress.reached, verdict.reached, number);
        progress.requests += requests;
        progress.answers += verdict.answers;
        if (verdict.problems.length > 0) findings.push({ number, cases: 1, problems: verdict.problems });
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const problems = await catalogue.check();
    if (problems.length > 0) findings.push({ number: begin, cases: casesARound, problems });
    progress.cases += casesARound;
    progress.pets = catalogue.size;
    afterRound?.(progress);
  }
  return { ...progress, findings };
}

/** Plays one case alone. Resolves with its problems. */
export async function playAlone(fuzzCase: FuzzCase, address: Address): Promise<readonly string[]> {
  using sane = new SaneClient(address);
  const catalogue = await Catalogue.begin(sane);
  const verdict = judge(fuzzCase, await play(fuzzCase, address, sane));
  catalogue.note(verdict);
  return [...verdict.problems, ...(await catalogue.check())];
}
