import type { Create } from './history.ts';

/** A page of the list, and what decides which pets belong on it. */
export type Page = {
  /** The start of its request, by `performance.now()`. */
  readonly begun: number;
  /** The page holds ids greater than this one. */
  readonly after: bigint;
  readonly status?: string;
  /** The JSON of each pet, in the bytes of the answer. */
  readonly pets: readonly string[];
  /** Whether another page follows. */
  readonly more: boolean;
};

/** The answers that acknowledged pets before this time. */
export function acknowledgedBefore(creates: readonly Create[], time: number): readonly string[] {
  return creates.flatMap(({ outcome, ended, answer }) =>
    outcome === 'acknowledged' && answer !== undefined && ended < time ? [answer] : [],
  );
}

/** The pets that belong on the page, were acknowledged before its request, and are missing or different. */
export function missingFrom(page: Page, creates: readonly Create[]): readonly string[] {
  const { after, status, more } = page;
  const pets = new Set(page.pets);
  const last = page.pets.at(-1);
  const upTo = more && last !== undefined ? idOf(last) : undefined;
  return acknowledgedBefore(creates, page.begun).filter((answer) => {
    const id = idOf(answer);
    const belongs = id > after && (upTo === undefined || id <= upTo);
    return belongs && (status === undefined || answer.endsWith(`"status":"${status}"}`)) && !pets.has(answer);
  });
}

export function idOf(json: string): bigint {
  const digits = /^\{"id":(\d+),/.exec(json)?.[1];
  if (digits === undefined) throw new Error(`not a pet: ${json}`);
  return BigInt(digits);
}
