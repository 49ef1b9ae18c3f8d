import type { ApiKey } from '../../domain/api-key.ts';

/** A key that has never been before. */
export type MintedKey = Pick<ApiKey, 'id' | 'digest'> & {
  /** The key itself: to be shown once and kept nowhere. */
  readonly token: string;
};

/** Makes keys that nobody can guess. */
export interface KeyMint {
  mint(): Promise<MintedKey>;
}
