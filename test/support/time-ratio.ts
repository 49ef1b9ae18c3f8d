const ROUNDS = 10;

/** How many times as long the first takes. Compares the shortest of some rounds: other work makes a round longer. */
export async function timeRatio(
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<number> {
  const [times, others]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    times.push(await timeOf(first));
    others.push(await timeOf(second));
  }
  return Math.min(...times) / Math.min(...others);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
