import { inspect, isDeepStrictEqual } from 'node:util';

/** A call to a damaged storage: a text that names the call, the call itself, and a check of its answer. */
export type Question = readonly [
  callName: string,
  ask: () => Promise<unknown>,
  isRight: (answer: unknown) => boolean | Promise<boolean>,
];

/** Returns a function that compares an answer with `expected`. */
export const isEqualTo = (expected: unknown) => (answer: unknown) => isDeepStrictEqual(answer, expected);

/** A damaged storage may cause errors of these kinds. The service answers each of them with a 5xx. */
const EXPECTED_ERRORS = new Set<unknown>([
  'damaged-pet',
  'damaged-api-key',
  'storage-unavailable',
  'pet-ids-exhausted',
]);

/**
 * Asks all questions. Returns a text for each wrong answer in `wrong`, and a text for each expected error in `errors`.
 * Any other error is a wrong answer.
 */
export async function askAll(
  questions: readonly Question[],
): Promise<{ readonly wrong: readonly string[]; readonly errors: readonly string[] }> {
  const wrong: string[] = [];
  const errors: string[] = [];
  for (const [callName, ask, isRight] of questions) {
    try {
      const answer = await ask();
      if (!(await isRight(answer))) wrong.push(`${callName}: ${inspect(answer).slice(0, 300)}`);
    } catch (error) {
      const isExpected = error instanceof Error && 'kind' in error && EXPECTED_ERRORS.has(error.kind);
      (isExpected ? errors : wrong).push(`${callName}: ${String(error)}`);
    }
  }
  return { wrong, errors };
}
