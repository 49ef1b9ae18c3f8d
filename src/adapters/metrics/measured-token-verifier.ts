import type { Caller, TokenVerifier } from '../../application/ports/token-verifier.ts';
import type { VerificationMetrics } from './verification-metrics.ts';

/**
 * Counts what another verifier accepts, and what it cannot check. Resolves and rejects as it does. Only the verifier
 * of the stored keys knows why it refuses a token, so it reports refusals itself.
 */
export class MeasuredTokenVerifier implements TokenVerifier {
  readonly #tokens: TokenVerifier;
  readonly #metrics: VerificationMetrics;

  constructor(tokens: TokenVerifier, metrics: VerificationMetrics) {
    this.#tokens = tokens;
    this.#metrics = metrics;
  }

  /**
   * @throws {StorageUnavailable}
   * @throws {DamagedApiKey}
   */
  async verify(token: string): Promise<Caller | undefined> {
    try {
      const caller = await this.#tokens.verify(token);
      if (caller !== undefined) this.#metrics.count('accepted');
      return caller;
    } catch (error) {
      this.#metrics.count('failed');
      throw error;
    }
  }
}
