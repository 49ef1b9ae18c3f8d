import type { FuzzCase, Step } from './fuzz-case.ts';

/** The most attempts to make a case smaller. Each one plays it. */
const MAX_ATTEMPTS = 400;

/**
 * Makes a case smaller as long as it fails: fewer connections, then fewer steps, then fewer bytes.
 *
 * @param fails plays a case, and resolves with whether it still fails
 */
export async function minimise(
  fuzzCase: FuzzCase,
  fails: (smaller: FuzzCase) => Promise<boolean>,
): Promise<FuzzCase> {
  let steps = fuzzCase.steps;
  let attempts = 0;
  const attempt = async (smaller: readonly Step[]) => {
    if (smaller.length === 0 || attempts++ >= MAX_ATTEMPTS || !(await fails({ steps: smaller })))
      return false;
    steps = smaller;
    return true;
  };
  for (const on of new Set(steps.map((step) => step.on)))
    await attempt(steps.filter((step) => step.on !== on));
  await attempt(joined(steps));
  for (let size = steps.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < steps.length; ) {
      if (!(await attempt(steps.toSpliced(at, size)))) at += size;
    }
  }
  for (let index = 0; index < steps.length; index++) {
    for (let size = 4_096; size >= 1; size >>= 1) {
      for (let at = 0; at < sendOf(steps[index]).length; ) {
        const text = sendOf(steps[index]);
        const shorter = { ...steps[index], send: text.slice(0, at) + text.slice(at + size) } as Step;
        if (size > text.length || !(await attempt(steps.with(index, shorter)))) at += size;
      }
    }
  }
  return { steps };
}

function sendOf(step: Step | undefined): string {
  return step !== undefined && 'send' in step ? step.send : '';
}

/** Each connection sends everything at once. */
function joined(steps: readonly Step[]): readonly Step[] {
  const texts = new Map<number, string>();
  for (const step of steps) {
    if ('send' in step) texts.set(step.on, (texts.get(step.on) ?? '') + step.send);
  }
  return [...[...texts].map(([on, send]) => ({ on, send })), ...steps.filter((step) => 'close' in step)];
}
