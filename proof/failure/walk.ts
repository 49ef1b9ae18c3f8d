import { send } from './client.ts';
import type { Page } from './history.ts';
import { listPage } from './list-page.ts';

const LIMIT = 100;

/** Reads all pages of `GET /v1/pets` from the service at `url`. */
export async function readAllPages(url: string): Promise<readonly Page[]> {
  const pages: Page[] = [];
  let next: string | undefined = `${url}/v1/pets?limit=${LIMIT}`;
  for (let after = 0; next !== undefined; ) {
    const { origin, pathname, search }: URL = new URL(next);
    const { sentRequest, reply } = await send(origin, pathname + search, {});
    if (reply?.status !== 200) throw new Error(`the list was answered ${sentRequest.status} ${reply?.body}`);
    const page = listPage(reply);
    pages.push({
      type: 'page',
      ...sentRequest,
      after,
      limit: LIMIT,
      pets: page.pets,
      hasNext: page.next !== undefined,
    });
    after = Number(/^\{"id":(\d+),/.exec(page.pets.at(-1) ?? '')?.[1]);
    next = page.next;
  }
  return pages;
}
