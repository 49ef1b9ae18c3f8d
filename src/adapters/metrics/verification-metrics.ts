import type { Registry } from 'prom-client';
import type { TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { exposeCounts } from './expose.ts';

export type Verification =
  | 'accepted'
  | TokenRefusal
  /** The key could not be checked: the storage was unavailable, the record damaged, or there is a bug. */
  | 'failed';

/** Counts verifications of API keys by their outcome. */
export class VerificationMetrics {
  readonly #counts: Record<Verification, number> = {
    accepted: 0,
    unknown: 0,
    expired: 0,
    revoked: 0,
    failed: 0,
  };

  constructor(registry: Registry) {
    exposeCounts(
      registry,
      {
        name: 'petstore_key_verifications_total',
        help: 'Verifications of API keys by their outcome.',
        labelNames: ['outcome'],
      },
      () => Object.entries(this.#counts).map(([outcome, count]) => [{ outcome }, count] as const),
    );
  }

  count(outcome: Verification): void {
    this.#counts[outcome]++;
  }
}

/**
 * Counts what the verifier accepts, and what it cannot check. Resolves and rejects as the verifier does. Only the
 * verifier of the stored keys knows why it refuses a token, so it reports refusals itself.
 */
export function measureTokens(tokens: TokenVerifier, metrics: VerificationMetrics): TokenVerifier {
  return {
    async verify(token) {
      try {
        const caller = await tokens.verify(token);
        if (caller !== undefined) metrics.count('accepted');
        return caller;
      } catch (error) {
        metrics.count('failed');
        throw error;
      }
    },
  };
}
