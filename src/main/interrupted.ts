import { constants } from 'node:os';

type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The operating system or the user asked the program to stop. */
export class Interrupted extends Error {
  readonly kind = 'interrupted';
  readonly signal: Signal;

  constructor(signal: Signal) {
    super(`interrupted by ${signal}`);
    this.name = 'Interrupted';
    this.signal = signal;
  }

  /** 128 plus the number of the signal, as shells report it. */
  get exitCode(): number {
    return 128 + constants.signals[this.signal];
  }
}
