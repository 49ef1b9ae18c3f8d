import { petText, type Verdict } from './judge.ts';
import type { WantedPet } from './read-pet.ts';
import type { SaneClient } from './sane-client.ts';

/** Compares the pets that were stored with those that requests asked for and those that were acknowledged. */
export class Catalogue {
  readonly #sane: SaneClient;
  readonly #wanted = new Map<string, number>();
  #acknowledged = new Map<bigint, string>();
  #lastId: bigint;

  private constructor(sane: SaneClient, lastId: bigint) {
    this.#sane = sane;
    this.#lastId = lastId;
  }

  /** Begins with what is stored by now. */
  static async begin(sane: SaneClient): Promise<Catalogue> {
    const body = '{"name":"the first","categoryId":1,"status":"sold"}';
    const id = /^\{"id":(\d+),/.exec((await sane.request('POST', '/v1/pets', body)).body)?.[1] ?? '0';
    return new Catalogue(sane, BigInt(id));
  }

  /** The number of pets that were stored since the beginning of the service. */
  get size(): number {
    return Number(this.#lastId);
  }

  note({ wanted, acknowledged }: Pick<Verdict, 'wanted' | 'acknowledged'>): void {
    for (const pet of wanted) this.#want(pet);
    for (const pet of acknowledged) {
      // A replay is answered with a pet from before.
      if (pet.id > this.#lastId) this.#acknowledged.set(pet.id, petText(pet));
    }
  }

  /** The pets since the last check that are wrong or missing, one line each. Call it when no request is in progress. */
  async check(): Promise<readonly string[]> {
    const added = this.#sane.takeAdded();
    this.note({ wanted: added, acknowledged: added });
    const problems: string[] = [];
    for (const pet of await this.#sane.petsAfter(this.#lastId)) {
      const text = petText(pet);
      if (!this.#take(text)) problems.push(`no request asked for the stored pet ${text}`);
      const acknowledged = this.#acknowledged.get(pet.id) ?? text;
      if (acknowledged !== text) problems.push(`pet ${pet.id} was ${acknowledged} and is ${text}`);
      this.#acknowledged.delete(pet.id);
      this.#lastId = pet.id;
    }
    for (const [id, text] of this.#acknowledged) problems.push(`pet ${id} is missing: ${text}`);
    this.#acknowledged = new Map();
    // What was asked for and not stored may have been a replay or a client that left.
    this.#wanted.clear();
    return problems;
  }

  #want(pet: WantedPet): void {
    const text = petText(pet);
    this.#wanted.set(text, (this.#wanted.get(text) ?? 0) + 1);
  }

  #take(text: string): boolean {
    const left = this.#wanted.get(text) ?? 0;
    this.#wanted.set(text, left - 1);
    return left > 0;
  }
}
