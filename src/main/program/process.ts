import { constants } from 'node:os';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import type { StorageKind } from '../../application/ports/storage-kind.ts';

/** EX_IOERR of sysexits.h: docs/explanation/group-commit.md, "When a sync fails". */
const EXIT_STORAGE_FAILED = 74;

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

export class Interrupted extends Error {
  readonly signal: Signal;

  constructor(signal: Signal) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }

  /** Shells report 128 plus the number of the signal. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

/** @param log writes each line before the process ends */
export function storageHost(log: Pick<StorageHost, 'warn'> & { fatal(message: string): void }): StorageHost {
  return {
    warn: (message) => log.warn(message),
    fatal(message) {
      log.fatal(message);
      // `exit` closes nothing, but waits for the system calls that threads have begun.
      process.exit(EXIT_STORAGE_FAILED);
    },
  };
}

export type Env = Readonly<Record<string, string | undefined>>;

export type Output = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, callback?: (error?: Error | null) => void): unknown;
};

export type Io = {
  readonly env: Env;
  /** Only the answer of a command goes here. */
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Aborted with a reason: an {@link Interrupted}. */
  readonly signal: AbortSignal;
  /** Sets the action of earlier and later SIGHUPs. Only the first call counts. By default, SIGHUP interrupts. */
  readonly setHangUpAction: (act?: () => void) => void;
  readonly storages: readonly StorageKind[];
  /** Starts the service, which ends the process itself. */
  readonly serve: (io: ServiceIo) => Promise<void>;
};

/** The service handles interruptions itself, because it drains first. */
export type ServiceIo = Pick<Io, 'env' | 'signal' | 'setHangUpAction' | 'storages'>;
