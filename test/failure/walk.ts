import { ask } from './ask.ts';
import { listPage } from './list-page.ts';
import { AUTHORIZATION } from './service-process.ts';
import type { StoredPet } from './verdict.ts';

/** All pets, as the service lists them page by page. */
export async function walk(url: string): Promise<readonly StoredPet[]> {
  const pets: StoredPet[] = [];
  let next: string | undefined = `${url}/v1/pets?limit=100`;
  while (next !== undefined) {
    const reply = await ask(next, { headers: AUTHORIZATION });
    if (reply.status !== 200) throw new Error(`the list was answered ${reply.status} ${reply.body}`);
    const page = listPage(reply);
    pets.push(...page.pets.map((json) => ({ name: String(JSON.parse(json).name), json })));
    next = page.next;
  }
  return pets;
}
