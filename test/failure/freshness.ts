import type { Create } from './history.ts';

/** A page of the list: which pets it must have. */
export type Page = {
  /** When the request for it began, in `performance.now()`. */
  readonly begun: number;
  /** Ids greater than this one are on it. */
  readonly after: bigint;
  readonly status?: string;
  /** The pets on it, each in the bytes in which it was shown. */
  readonly pets: readonly string[];
  /** Whether another page follows. */
  readonly more: boolean;
};

/** The answers that acknowledged pets before that time. */
export function acknowledgedBefore(creates: readonly Create[], time: number): readonly string[] {
  return creates.flatMap(({ outcome, ended, answer }) =>
    outcome === 'acknowledged' && answer !== undefined && ended < time ? [answer] : [],
  );
}

/** The pets that were acknowledged before a page was asked for, belong on it, and are not on it as acknowledged. */
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
