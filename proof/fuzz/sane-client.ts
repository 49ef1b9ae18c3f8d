import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { ask, type Reply } from '../failure/ask.ts';
import { expectConforms } from '../../test/support/conformance.ts';
import { ROOT_CERT } from '../../test/support/tls/pem-files.ts';
import type { StoredPet } from './expected-answer.ts';
import { FUZZ_KEY } from './fuzz-limits.ts';
import type { Address } from './fuzz-client.ts';

/** The first of this number of calls of `ask` adds a pet and reads it. The other calls read `/livez`. */
const CALLS_PER_CREATE = 50;

/** A client that sends only valid requests. It must get right answers while other clients send broken bytes. */
export class SaneClient implements Disposable {
  readonly #address: Address;
  readonly #agent: Agent;
  /** The pets that `ask` has added since the last call of {@link takeAdded}. */
  #addedPets: StoredPet[] = [];
  #askCount = 0;

  constructor(address: Address) {
    this.#address = address;
    // Each request has a new connection, because the service could close an idle connection just before its use.
    this.#agent = address.tls ? new TlsAgent({ ca: ROOT_CERT, servername: 'localhost' }) : new Agent();
  }

  /**
   * Sends a valid request.
   *
   * @throws {Error} if the answer is wrong
   */
  async ask(): Promise<void> {
    if (this.#askCount++ % CALLS_PER_CREATE !== 0) {
      expectEqual((await this.request('GET', '/livez')).body, '{"status":"ok"}');
      return;
    }
    const pet = { name: `sane ${this.#askCount}`, categoryId: BigInt(this.#askCount), status: 'sold' };
    const json = `"name":"${pet.name}","categoryId":${pet.categoryId},"status":"${pet.status}"}`;
    const { body } = await this.request('POST', '/v1/pets', `{${json}`);
    const id = /^\{"id":(\d+),/.exec(body)?.[1] ?? '';
    expectEqual(body, `{"id":${id},${json}`);
    expectEqual((await this.request('GET', `/v1/pets/${id}`)).body, body);
    this.#addedPets.push({ ...pet, id: BigInt(id) });
  }

  /** Returns the pets that `ask` has added since the last call. */
  takeAdded(): readonly StoredPet[] {
    const pets = this.#addedPets;
    this.#addedPets = [];
    return pets;
  }

  /** Reads all stored pets with an id greater than `id`. */
  async petsAfter(id: bigint): Promise<readonly StoredPet[]> {
    const pets: StoredPet[] = [];
    for (let cursor: string | undefined = `v1.${id.toString(16).padStart(16, '0')}`; cursor !== undefined; ) {
      const answer: Reply = await this.request('GET', `/v1/pets?limit=100&cursor=${cursor}`);
      pets.push(...parsePets(answer.body));
      cursor = answer.headers['next-cursor'] as string | undefined;
    }
    return pets;
  }

  /** @throws {Error} if the answer breaks the contract, or if its status is not 201 (`POST`) or 200 (other methods) */
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

/** Parses pets. Every number becomes a bigint, so that no digit is lost. */
export function parsePets(json: string): readonly StoredPet[] {
  return JSON.parse(json, (_key, value: unknown, { source = '' }) =>
    typeof value === 'number' ? BigInt(source) : value,
  ) as readonly StoredPet[];
}

function expectEqual(received: string, expected: string): void {
  if (received !== expected) throw new Error(`the sane client expected ${expected} but received ${received}`);
}
