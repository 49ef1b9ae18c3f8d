import type { Progress } from '../../application/ports/pet-archive.ts';
import type { StorageKind } from '../../application/ports/storage.ts';
import { OutputError } from './output-error.ts';
import { ProgressReport, type ReportOutput } from './progress-report.ts';

type Output = Omit<ReportOutput, 'write'> & {
  write(text: string, callback?: (error?: Error | null) => void): unknown;
};

/** What the program gets from its process. */
export type Io = {
  readonly env: Readonly<Record<string, string | undefined>>;
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
};

/** One run of a command: what it may read, and how it reports. */
export class Session {
  readonly env: Io['env'];
  readonly stderr: Output;
  readonly stdin: Io['stdin'];
  readonly signal: AbortSignal;
  readonly onHangUp: Io['onHangUp'];
  readonly storages: Io['storages'];
  /** How to continue, shown to the user after an interruption. */
  hint: string | undefined;
  readonly #stdout: Output;
  readonly #progress: ProgressReport;

  constructor({ env, stdout, stderr, stdin, signal, onHangUp, storages }: Io) {
    this.env = env;
    this.stderr = stderr;
    this.stdin = stdin;
    this.signal = signal;
    this.onHangUp = onHangUp;
    this.storages = storages;
    this.#stdout = stdout;
    this.#progress = new ProgressReport(stderr);
  }

  /**
   * Shows progress. Long work calls it between batches, which is also where an interruption stops it.
   *
   * @throws {Interrupted}
   */
  readonly onProgress = (progress: Progress): void => {
    this.signal.throwIfAborted();
    this.#progress.update(progress);
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
    this.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#stdout.write(text, (error) => {
      if (error == null) resolve();
      else reject(new OutputError(error));
    });
    await promise;
  }

  /** Writes a line to standard error. */
  note(line: string): void {
    this.#progress.clear();
    this.stderr.write(`${line}\n`);
  }

  /** Removes the progress bar from a terminal. */
  clearProgress(): void {
    this.#progress.clear();
  }
}
