import type { Progress } from '../../application/ports/pet-archive.ts';
import { unusedVariableWarnings } from '../config/without-effect.ts';
import { OutputError } from '../program/failures.ts';
import { type Io, storageHost } from '../program/process.ts';
import { ProgressReport } from './progress-report.ts';

/** After 1 s, an interrupted command abandons an unresponsive storage. */
const UNWIND_MS = 1_000;

/** Takes the arguments of the command, then its options by name. */
type Work = (session: Session, ...given: never[]) => Promise<void>;

/** Makes the action that commander calls for a command. */
export type ActionOf = (work: Work) => (...given: unknown[]) => void;

export class Session {
  /** Advice after an interruption. */
  hint: string | undefined;
  /** All changes of the command have this time. */
  readonly now = new Date();
  readonly clock = () => this.now;
  readonly io: Io;
  readonly json: boolean;
  /** Drops warnings, because the error of a command reports the same problem. */
  readonly host = storageHost({ warn: () => {}, fatal: (message) => this.note(message) });
  readonly #progress: ProgressReport;

  constructor(io: Io, json = false) {
    this.io = io;
    this.json = json;
    this.#progress = new ProgressReport(io.stderr);
  }

  /**
   * After an interruption, the work has 1 s to stop and close what it has opened.
   *
   * @returns the exit code
   * @throws {Interrupted} after an interruption, whatever the work does
   */
  async run(work: () => Promise<void>): Promise<number> {
    const { signal, setHangUpAction } = this.io;
    const abandoned = Promise.withResolvers<void>();
    const onAbort = () => {
      this.note(`interrupted${this.hint === undefined ? '' : `; ${this.hint}`}`);
      setTimeout(abandoned.resolve, UNWIND_MS);
    };
    setHangUpAction();
    for (const warning of unusedVariableWarnings(this.io.env)) this.note(warning);
    signal.addEventListener('abort', onAbort);
    try {
      this.#progress.start();
      if (signal.aborted) onAbort();
      else await Promise.race([work(), abandoned.promise]);
      return 0;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#progress.clear();
      signal.throwIfAborted();
    }
  }

  /**
   * Long work calls this between batches, where an interruption can stop it.
   *
   * @throws {Interrupted}
   */
  readonly onProgress = (progress: Progress): void => {
    this.io.signal.throwIfAborted();
    this.#progress.update(progress);
  };

  async answer(text: string, value: unknown): Promise<void> {
    await this.print(this.json ? `${JSON.stringify(value)}\n` : text);
  }

  /** Waits for a slow reader of standard output. */
  async print(text: string): Promise<void> {
    this.#progress.clear();
    await this.write(text);
  }

  /**
   * Writes a part of a long answer. The progress bar stays on the screen.
   *
   * @throws {OutputError}
   * @throws {Interrupted}
   */
  async write(text: string): Promise<void> {
    this.io.signal.throwIfAborted();
    const error = await new Promise<Error | null | undefined>((resolve) => {
      this.io.stdout.write(text, resolve);
    });
    if (error) throw new OutputError(error);
  }

  /** Writes to standard error. No line looks like an audit line, which begins with `{`. */
  note(text: string): void {
    this.#progress.clear();
    this.io.stderr.write(`petstore: ${text.replaceAll(/\n(?! )/g, '\n  ')}\n`);
  }
}
