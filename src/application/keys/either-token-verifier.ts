import type { Caller, TokenVerifier } from '../ports/token-verifier.ts';

/** Accepts the tokens of two verifiers. Asks the second one only about tokens that the first one rejects. */
export class EitherTokenVerifier implements TokenVerifier {
  readonly #first: TokenVerifier;
  readonly #second: TokenVerifier;

  constructor(first: TokenVerifier, second: TokenVerifier) {
    this.#first = first;
    this.#second = second;
  }

  async verify(token: string): Promise<Caller | undefined> {
    return (await this.#first.verify(token)) ?? (await this.#second.verify(token));
  }
}
