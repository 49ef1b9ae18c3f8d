import { setTimeout as sleep } from 'node:timers/promises';
import { keysCommand } from '../failure/turn-over-keys.ts';

/** The time for which clients use a new key before it is revoked, in milliseconds. */
const KEY_AGE_MS = 10_000;

type Key = { readonly id: string; readonly token: string };

/** Makes and revokes API keys with the commands of the service, until `stop` is called. */
export class SoakKeys {
  made = 0;
  revoked = 0;
  readonly #keys: ReturnType<typeof keysCommand>;
  readonly #first: string;
  readonly #allRevoked: Promise<void>;
  #current: Key | undefined;
  #isStopping = false;

  /** @param first a key that is always valid */
  constructor(databaseUrl: string, first: string) {
    this.#keys = keysCommand(databaseUrl);
    this.#first = first;
    this.#allRevoked = this.#makeAndRevoke();
  }

  /** The tokens that clients may use now. */
  get tokens(): readonly string[] {
    return this.#current === undefined ? [this.#first] : [this.#first, this.#current.token];
  }

  /** @throws {Error} if a command failed */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#allRevoked;
  }

  async #makeAndRevoke(): Promise<void> {
    while (!this.#isStopping) {
      const { stdout } = await this.#keys('create', '--label', 'soak', '--scopes', 'pets:read,pets:write');
      const token = stdout.trim();
      const key = { id: token.split('_')[1] ?? '', token };
      this.made++;
      this.#current = key;
      await sleep(KEY_AGE_MS);
      this.#current = undefined;
      // Waits for the answers to requests that were sent with this key.
      await sleep(1_000);
      await this.#keys('revoke', key.id);
      this.revoked++;
    }
  }
}
