import type { ProgressReport } from './progress-report.ts';

export type Arguments = {
  readonly file: string | undefined;
  readonly from: string | undefined;
  readonly to: string | undefined;
};

/** What a command can tell while it runs. */
export type Talk = {
  readonly progress: ProgressReport;
  /** From now on this is said when somebody interrupts: how to go on. */
  ifInterrupted(hint: string): void;
};

export type Command = {
  readonly help: string;
  readonly options: readonly ('from' | 'to')[];
  readonly takesFile: boolean;
  run(args: Arguments, talk: Talk): Promise<void>;
};
