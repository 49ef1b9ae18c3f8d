import type { Progress } from '../../application/ports/pet-archive.ts';
import { withoutEffect } from '../config/without-effect.ts';
import { OutputError } from '../program/failures.ts';
import { type Io, storageHost } from '../program/process.ts';
import { ProgressReport } from './progress-report.ts';

/** How long an interrupted command may take to close what it opened. A storage that hangs is then abandoned. */
const UNWIND_MS = 1_000;

/** What a command does, with the arguments of its definition and its options by name. */
type Work = (session: Session, ...given: never[]) => Promise<void>;

/** Makes of the work of a command the action that commander calls when the command line names the command. */
export type ActionOf = (work: Work) => (...given: unknown[]) => void;

/** One run of a command: what it may read, and how it reports. */
export class Session {
  /** How to continue, shown to the user after an interruption. */
  hint: string | undefined;
  /** The time of all its changes. */
  readonly now = new Date();
  readonly clock = () => this.now;
  /** What the command may read, and where it reports. */
  readonly io: Io;
  /** Whether its answer is for a program: `--json`. */
  readonly json: boolean;
  /** A command reports by its error what a service warns of. */
  readonly host = storageHost({ warn: () => {}, fatal: (message) => this.note(message) });
  readonly #progress: ProgressReport;

  constructor(io: Io, json = false) {
    this.io = io;
    this.json = json;
    this.#progress = new ProgressReport(io.stderr);
  }

  /**
   * Does the work of a command. Tells the user at once about an interruption, then lets the work stop and close what it
   * opened.
   *
   * @returns the exit code
   * @throws {Interrupted} after an interruption, whatever the work does
   */
  async run(work: () => Promise<void>): Promise<number> {
    const { signal, onHangUp } = this.io;
    const givenUp = Promise.withResolvers<void>();
    const onAbort = () => {
      this.note(`interrupted${this.hint === undefined ? '' : `; ${this.hint}`}`);
      setTimeout(givenUp.resolve, UNWIND_MS);
    };
    onHangUp();
    for (const warning of withoutEffect(this.io.env)) this.note(warning);
    signal.addEventListener('abort', onAbort);
    try {
      this.#progress.start();
      if (signal.aborted) onAbort();
      else await Promise.race([work(), givenUp.promise]);
      return 0;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#progress.clear();
      signal.throwIfAborted();
    }
  }

  /**
   * Shows progress. Long work calls it between batches, which is also where an interruption stops it.
   *
   * @throws {Interrupted}
   */
  readonly onProgress = (progress: Progress): void => {
    this.io.signal.throwIfAborted();
    this.#progress.update(progress);
  };

  /**
   * Prints the text, or the value as JSON with `--json`.
   *
   * @throws {OutputError}
   * @throws {Interrupted}
   */
  async answer(text: string, value: unknown): Promise<void> {
    await this.print(this.json ? `${JSON.stringify(value)}\n` : text);
  }

  /**
   * Writes the answer to standard output. Waits for a slow reader.
   *
   * @throws {OutputError}
   * @throws {Interrupted}
   */
  async print(text: string): Promise<void> {
    this.#progress.clear();
    await this.write(text);
  }

  /**
   * Like {@link print}, for one part of a long answer. Leaves the progress bar on the screen.
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

  /** Writes a text to standard error. No line of it looks like an audit line, which begins with `{`. */
  note(text: string): void {
    this.#progress.clear();
    this.io.stderr.write(`petstore: ${text.replaceAll(/\n(?! )/g, '\n  ')}\n`);
  }
}
