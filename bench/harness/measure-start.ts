import { setTimeout as sleep } from 'node:timers/promises';
import { contestantsOn, databaseUrl, start } from './contestants.ts';
import { median } from './samples.ts';

export type StartResult = {
  readonly store: string;
  readonly contestant: string;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  readonly residentMib: number;
};

/** For how long a process is idle before its memory is read. */
const IDLE_MS = 1_000;

/** The medians of the rounds. The first start has made the database and, of the service, compiled the sources. */
export async function measureStart(
  store: { readonly name: string; readonly url: string },
  rounds: number,
): Promise<readonly StartResult[]> {
  const contestants = contestantsOn(store.name).map((contestant) => ({
    contestant,
    url: databaseUrl(store.url, contestant, 'start'),
    startMs: [] as number[],
    residentMib: [] as number[],
  }));
  for (let round = 0; round <= rounds; round++) {
    for (const { contestant, url, startMs, residentMib } of contestants) {
      const running = await start(contestant, url);
      if (round > 0) {
        await sleep(IDLE_MS);
        startMs.push(running.startMs);
        residentMib.push(running.residentBytes() / 2 ** 20);
      }
      // The service stores its compiled sources when it ends by itself.
      await running.stop('SIGTERM');
    }
  }
  return contestants.map(({ contestant, startMs, residentMib }) => ({
    store: store.name,
    contestant: contestant.name,
    startMs: median(startMs),
    residentMib: median(residentMib),
  }));
}
