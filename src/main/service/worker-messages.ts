import type { MadeKey } from './start-keys.ts';

/** What the primary process tells a new worker. A pipe carries it: no other process can see the key. */
export type Orders = {
  /** The first worker decides about the key of a first start. */
  readonly isFirst: boolean;
  /** The key that the first worker has made, if it has made one. */
  readonly madeKey?: MadeKey;
};

/** What a worker tells the primary process. */
export type Report =
  | { readonly kind: 'listening'; readonly url: string; readonly madeKey?: MadeKey }
  /** It cannot start. Each problem is one printable text. */
  | { readonly kind: 'failed'; readonly problems: readonly string[] }
  /** It has drained. It ends when the primary process disconnects it. */
  | { readonly kind: 'stopped'; readonly cutOff: number };
