import type { Progress } from '../../application/ports/pet-archive.ts';
import { OutputError } from '../program/failures.ts';
import type { Io } from '../program/process.ts';
import { ProgressReport } from './progress-report.ts';

type KeyOption = 'label' | 'scopes' | 'expires' | 'rateLimit' | 'overlap' | 'output';

/** An option with a value. */
export type OptionName = 'from' | 'to' | 'env' | KeyOption;

/** A command line, parsed. */
export type Given = {
  readonly options: Readonly<Partial<Record<OptionName, string>>>;
  readonly json: boolean;
  readonly positionals: readonly string[];
};

export type Command = (given: Given, session: Session) => Promise<void>;

/** One run of a command: what it may read, and how it reports. */
export class Session {
  /** How to continue, shown to the user after an interruption. */
  hint: string | undefined;
  /** The time of all its changes. */
  readonly now = new Date();
  /** What the command may read, and where it reports. */
  readonly io: Io;
  readonly progress: ProgressReport;

  constructor(io: Io) {
    this.io = io;
    this.progress = new ProgressReport(io.stderr);
  }

  /**
   * Shows progress. Long work calls it between batches, which is also where an interruption stops it.
   *
   * @throws {Interrupted}
   */
  readonly onProgress = (progress: Progress): void => {
    this.io.signal.throwIfAborted();
    this.progress.update(progress);
  };

  /**
   * Prints the text, or the value as JSON with `--json`.
   *
   * @throws {OutputError}
   * @throws {Interrupted}
   */
  async answer({ json }: { readonly json: boolean }, text: string, value: unknown): Promise<void> {
    await this.print(json ? `${JSON.stringify(value)}\n` : text);
  }

  /**
   * Writes the answer to standard output. Waits for a slow reader.
   *
   * @throws {OutputError}
   * @throws {Interrupted}
   */
  async print(text: string): Promise<void> {
    this.progress.clear();
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
    this.progress.clear();
    this.io.stderr.write(`petstore: ${text.replaceAll(/\n(?! )/g, '\n  ')}\n`);
  }
}
