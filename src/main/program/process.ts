import { constants } from 'node:os';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import type { StorageKind } from '../../application/ports/storage-kind.ts';

/** EX_IOERR of sysexits.h: a sync has failed, and the storage was left as the disk has it. */
const STORAGE_FAILED = 74;

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The operating system or the user asked the program to stop. */
export class Interrupted extends Error {
  readonly signal: Signal;

  constructor(signal: Signal) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }

  /** 128 plus the number of the signal, as shells report it. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}

/** @param log takes its lines at once, or when the process exits */
export function storageHost(log: Pick<StorageHost, 'warn'> & { fatal(message: string): void }): StorageHost {
  return {
    warn: (message) => log.warn(message),
    fatal(message) {
      log.fatal(message);
      // Without a close. Waits for the calls that threads have in the system.
      process.exit(STORAGE_FAILED);
    },
  };
}

export type Env = Readonly<Record<string, string | undefined>>;

export type Output = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, callback?: (error?: Error | null) => void): unknown;
};

/** What the service and the commands get from the process. */
export type Io = {
  readonly env: Env;
  /** For the answer of a command, and nothing else. */
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Aborted with an {@link Interrupted}. */
  readonly signal: AbortSignal;
  /** Decides, once, what each SIGHUP does, also one from before. By default it interrupts. */
  readonly onHangUp: (act?: () => void) => void;
  /** The storages that a URL can name. */
  readonly storages: readonly StorageKind[];
  /** Starts the service, which ends the process itself. */
  readonly serve: (io: ServiceIo) => Promise<void>;
};

/** What the service gets. It handles interruptions itself: it drains first. */
export type ServiceIo = Pick<Io, 'env' | 'signal' | 'onHangUp' | 'storages'>;
