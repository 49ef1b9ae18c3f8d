import { inspect, isDeepStrictEqual } from 'node:util';

export type Question = readonly [
  what: string,
  ask: () => Promise<unknown>,
  isRight: (answer: unknown) => boolean | Promise<boolean>,
];

/** Whether an answer is this one. */
export const isEqualTo = (expected: unknown) => (answer: unknown) => isDeepStrictEqual(answer, expected);

/** Errors that become a 5xx. */
const EXPECTED_ERRORS = new Set<unknown>([
  'damaged-pet',
  'damaged-api-key',
  'storage-unavailable',
  'pet-ids-exhausted',
]);

/** Asks a damaged storage. Resolves with the wrong answers, and with the errors that become a 5xx. */
export async function askAll(
  questions: readonly Question[],
): Promise<{ readonly wrong: readonly string[]; readonly errors: readonly string[] }> {
  const wrong: string[] = [];
  const errors: string[] = [];
  for (const [what, ask, isRight] of questions) {
    try {
      const answer = await ask();
      if (!(await isRight(answer))) wrong.push(`${what}: ${inspect(answer).slice(0, 300)}`);
    } catch (error) {
      const isKnown = error instanceof Error && 'kind' in error && EXPECTED_ERRORS.has(error.kind);
      (isKnown ? errors : wrong).push(`${what}: ${String(error)}`);
    }
  }
  return { wrong, errors };
}
