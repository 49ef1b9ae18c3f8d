import type { Session } from './session.ts';

/** An option with a value. */
export type OptionName = 'from' | 'to' | 'label' | 'scopes' | 'expires' | 'rate-limit' | 'overlap';

/** A command line, parsed. */
export type Given = {
  readonly options: Readonly<Partial<Record<OptionName, string>>>;
  readonly json: boolean;
  readonly positionals: readonly string[];
};

export type Command = {
  /** As users type it. */
  readonly name: string;
  /** The answer to `--help`; the general help when absent. */
  readonly usage?: string;
  /** Besides `--help`, which every command has. */
  readonly options: readonly OptionName[];
  /** Whether it takes `--json`. */
  readonly json?: boolean;
  readonly maxPositionals: number;
  /** Whether it goes on after `run`, and handles an interruption itself: the service, which drains first. */
  readonly lasts?: boolean;
  run(given: Given, session: Session): Promise<void>;
};
