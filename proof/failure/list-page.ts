import type { Reply } from './ask.ts';

export type ListPage = {
  /** The JSON of each pet, in the bytes of the answer. */
  readonly pets: readonly string[];
  /** The URL of the next page. */
  readonly next: string | undefined;
};

/** Splits an answer of listPets. It parses no JSON, which would round large integers. */
export function listPage({ body, headers }: Pick<Reply, 'body' | 'headers'>): ListPage {
  return {
    pets: body === '[]' ? [] : body.slice(1, -1).split(/(?<=\}),(?=\{"id":)/),
    next: /<([^>]+)>; rel="next"/.exec(String(headers['link']))?.[1],
  };
}
