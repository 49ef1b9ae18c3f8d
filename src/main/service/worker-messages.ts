import type { TlsPair } from '../../adapters/http/server/create-limited-server.ts';
import type { Series } from '../../adapters/metrics/create-metrics.ts';
import type { MadeKey } from './start-keys.ts';

/** What the primary process tells a worker. A pipe carries it: no other process can see the keys. */
export type Order =
  | Orders
  /** Say what was measured, or that you are alive. */
  | { readonly kind: 'measure' | 'ping' };

/**
 * What the primary process has read and checked. A worker reads no variable and no file of its own: they may have
 * changed since the start of the service.
 */
export type Orders = {
  readonly kind: 'orders';
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For new connections. It changes when it is renewed, and the worker gets its orders again. */
  readonly tls: TlsPair | undefined;
  /** The first worker decides about the key of a first start. */
  readonly isFirst: boolean;
  /** The key that the first worker has made, if it has made one. */
  readonly madeKey?: MadeKey | undefined;
};

/** What a worker tells the primary process. */
export type Report =
  /** `ready`: it takes orders. Node would lose an earlier one. `alive`: the answer to a ping. */
  | { readonly kind: 'ready' | 'alive' }
  | { readonly kind: 'listening'; readonly url: string; readonly madeKey?: MadeKey }
  /** It cannot start. Each problem is one printable text. */
  | { readonly kind: 'failed'; readonly problems: readonly string[] }
  | { readonly kind: 'measured'; readonly series: Series }
  /** It has drained. It ends when the primary process disconnects it. */
  | { readonly kind: 'stopped'; readonly cutOff: number };
