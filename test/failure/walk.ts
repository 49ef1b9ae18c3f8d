import { ask } from './ask.ts';
import { API_KEY } from './service-process.ts';
import type { StoredPet } from './verdict.ts';

/** Every pet as the service lists it, page by page. */
export async function walk(url: string): Promise<readonly StoredPet[]> {
  const pets: StoredPet[] = [];
  let next: string | undefined = `${url}/v1/pets?limit=100`;
  while (next !== undefined) {
    const { status, headers, body } = await ask(next, { headers: { authorization: `Bearer ${API_KEY}` } });
    if (status !== 200) throw new Error(`the list was answered ${status} ${body}`);
    // Cut by hand, so that no number is changed by reading it.
    for (const json of body.slice(1, -1).split(/(?<=\}),(?=\{"id":)/)) {
      if (json !== '') pets.push({ name: String(JSON.parse(json).name), json });
    }
    next = /<([^>]+)>; rel="next"/.exec(String(headers['link']))?.[1];
  }
  return pets;
}
