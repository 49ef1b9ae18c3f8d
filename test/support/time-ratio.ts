const ROUNDS = 10;

/** The time of `first` divided by the time of `second`, each in its fastest round, because other work slows a round. */
export async function timeRatio(
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<number> {
  const [firstTimes, secondTimes]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    firstTimes.push(await timeOf(first));
    secondTimes.push(await timeOf(second));
  }
  return Math.min(...firstTimes) / Math.min(...secondTimes);
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
