import type { Session } from './session.ts';

/** An option with a value. */
export type OptionName = 'from' | 'to' | 'label' | 'scopes' | 'expires' | 'rateLimit' | 'overlap' | 'envFile';

/** A command line, parsed. */
export type Given = {
  readonly options: Readonly<Partial<Record<OptionName, string>>>;
  readonly json: boolean;
  readonly positionals: readonly string[];
};

export type Command = {
  /** Whether it keeps running after `run` and handles interruptions itself, like the service, which drains first. */
  readonly longRunning?: boolean;
  run(given: Given, session: Session): Promise<void>;
};
