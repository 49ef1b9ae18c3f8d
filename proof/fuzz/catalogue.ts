import { petText, type Verdict } from './judge.ts';
import type { PetContent } from './read-pet.ts';
import type { SaneClient } from './sane-client.ts';

/** Compares the stored pets with the pets in the requests and with the pets in the answers. */
export class Catalogue {
  readonly #saneClient: SaneClient;
  /** How often each pet was requested since the last check. The keys are texts of {@link petText}. */
  readonly #requestCounts = new Map<string, number>();
  /** The texts of the pets that the service answered with 201 since the last check, by id. */
  #acknowledgedTexts = new Map<bigint, string>();
  /** The greatest id that was checked. */
  #lastId: bigint;

  private constructor(saneClient: SaneClient, lastId: bigint) {
    this.#saneClient = saneClient;
    this.#lastId = lastId;
  }

  /** Adds a pet. Only pets with a greater id are checked. */
  static async begin(saneClient: SaneClient): Promise<Catalogue> {
    const body = '{"name":"the first","categoryId":1,"status":"sold"}';
    const id = /^\{"id":(\d+),/.exec((await saneClient.request('POST', '/v1/pets', body)).body)?.[1] ?? '0';
    return new Catalogue(saneClient, BigInt(id));
  }

  /** The number of pets in the service, whose ids are 1, 2, 3 and so on. */
  get size(): number {
    return Number(this.#lastId);
  }

  /** Notes the pets that `check` then expects in the service. */
  note({ newPets, acknowledgedPets }: Pick<Verdict, 'newPets' | 'acknowledgedPets'>): void {
    for (const pet of newPets) this.#addRequested(pet);
    for (const pet of acknowledgedPets) {
      // The answer to a repeated request may have a pet that was checked earlier.
      if (pet.id > this.#lastId) this.#acknowledgedTexts.set(pet.id, petText(pet));
    }
  }

  /**
   * Checks the pets that were added since the last check. Call it when no request is in progress.
   *
   * @returns one line for each wrong or missing pet
   */
  async check(): Promise<readonly string[]> {
    const addedPets = this.#saneClient.takeAdded();
    this.note({ newPets: addedPets, acknowledgedPets: addedPets });
    const problems: string[] = [];
    for (const pet of await this.#saneClient.petsAfter(this.#lastId)) {
      const text = petText(pet);
      if (!this.#takeRequested(text)) problems.push(`no request added the stored pet ${text}`);
      const answerText = this.#acknowledgedTexts.get(pet.id) ?? text;
      if (answerText !== text) problems.push(`pet ${pet.id} is ${text}, but was answered as ${answerText}`);
      this.#acknowledgedTexts.delete(pet.id);
      this.#lastId = pet.id;
    }
    for (const [id, text] of this.#acknowledgedTexts) problems.push(`pet ${id} is missing: ${text}`);
    this.#acknowledgedTexts = new Map();
    // A requested pet need not be stored: the request may be a repetition, or its client may have left.
    this.#requestCounts.clear();
    return problems;
  }

  #addRequested(pet: PetContent): void {
    const text = petText(pet);
    this.#requestCounts.set(text, (this.#requestCounts.get(text) ?? 0) + 1);
  }

  #takeRequested(text: string): boolean {
    const count = this.#requestCounts.get(text) ?? 0;
    this.#requestCounts.set(text, count - 1);
    return count > 0;
  }
}
