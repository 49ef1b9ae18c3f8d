import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { ask, type Reply } from '../failure/ask.ts';
import { expectConforms } from '../../test/support/conformance.ts';
import { ROOT_CERT } from '../../test/support/tls/pem-files.ts';
import type { StoredPet } from './expected-answer.ts';
import { FUZZ_KEY } from './fuzz-limits.ts';
import type { Address } from './fuzz-client.ts';

/** The share of the requests that add a pet and read it again. */
const CREATE_EVERY = 50;

/** An ordinary client, which gets right answers the whole time. */
export class SaneClient implements Disposable {
  readonly #address: Address;
  readonly #agent: Agent;
  /** The pets that it added since the last call of {@link takeAdded}. */
  #added: StoredPet[] = [];
  #asked = 0;

  constructor(address: Address) {
    this.#address = address;
    // A new connection for each request: an idle one can end at the moment of its use.
    this.#agent = address.tls ? new TlsAgent({ ca: ROOT_CERT, servername: 'localhost' }) : new Agent();
  }

  /** Sends an ordinary request. @throws {Error} if the answer is wrong */
  async ask(): Promise<void> {
    if (this.#asked++ % CREATE_EVERY !== 0) {
      expectEqual((await this.request('GET', '/livez')).body, '{"status":"ok"}');
      return;
    }
    const pet = { name: `sane ${this.#asked}`, categoryId: BigInt(this.#asked), status: 'sold' };
    const json = `"name":"${pet.name}","categoryId":${pet.categoryId},"status":"${pet.status}"}`;
    const { body } = await this.request('POST', '/v1/pets', `{${json}`);
    const id = /^\{"id":(\d+),/.exec(body)?.[1] ?? '';
    expectEqual(body, `{"id":${id},${json}`);
    expectEqual((await this.request('GET', `/v1/pets/${id}`)).body, body);
    this.#added.push({ ...pet, id: BigInt(id) });
  }

  takeAdded(): readonly StoredPet[] {
    const added = this.#added;
    this.#added = [];
    return added;
  }

  /** All pets with an id above this one. */
  async petsAfter(id: bigint): Promise<readonly StoredPet[]> {
    const pets: StoredPet[] = [];
    for (let cursor: string | undefined = `v1.${id.toString(16).padStart(16, '0')}`; cursor !== undefined; ) {
      const answer: Reply = await this.request('GET', `/v1/pets?limit=100&cursor=${cursor}`);
      pets.push(...parsePets(answer.body));
      cursor = answer.headers['next-cursor'] as string | undefined;
    }
    return pets;
  }

  async request(method: string, path: string, body?: string): Promise<Reply> {
    const { tls, port } = this.#address;
    const headers = { authorization: `Bearer ${FUZZ_KEY}`, 'content-type': 'application/json' };
    const answer = await ask(`${tls ? 'https' : 'http'}://127.0.0.1:${port}${path}`, {
      method,
      headers,
      agent: this.#agent,
      ...(body !== undefined && { body }),
    });
    expectConforms({ method, path, ...answer });
    expectEqual(String(answer.status), method === 'POST' ? '201' : '200');
    return answer;
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Parses pets with every digit of their numbers. */
export function parsePets(json: string): readonly StoredPet[] {
  return JSON.parse(json, (_key, value: unknown, { source = '' }) =>
    typeof value === 'number' ? BigInt(source) : value,
  ) as readonly StoredPet[];
}

function expectEqual(seen: string, expected: string): void {
  if (seen !== expected) throw new Error(`the sane client expected ${expected} and got ${seen}`);
}
