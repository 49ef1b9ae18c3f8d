import type { Progress } from '../../application/ports/progress.ts';

/** How often something is said, in milliseconds: on a terminal, and elsewhere. */
const BAR_EVERY = 100;
const LINE_EVERY = 5_000;

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\x1b[K';

/** Where a report goes: standard error, in earnest. */
export type ReportOutput = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
};

/** Tells how far the work is: as a bar where people look at a terminal, as a line now and then elsewhere. */
export class ProgressReport {
  readonly #output: ReportOutput;
  readonly #now: () => number;
  #first: (Progress & { readonly at: number }) | undefined;
  #lastAt: number;

  /** @param now in milliseconds */
  constructor(output: ReportOutput, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#lastAt = now();
  }

  readonly update = (progress: Progress): void => {
    const at = this.#now();
    // The rate is that of the present piece of work.
    if (this.#first?.doing !== progress.doing) this.#first = { ...progress, at };
    if (at - this.#lastAt < (this.#output.isTTY ? BAR_EVERY : LINE_EVERY)) return;
    this.#lastAt = at;
    const rate = (1000 * (progress.done - this.#first.done)) / (at - this.#first.at);
    if (!this.#output.isTTY) this.#output.write(`${describe(progress, rate)}\n`);
    else {
      const text = `${bar(progress)}${describe(progress, rate)}`;
      this.#output.write(ERASE_LINE + text.slice(0, (this.#output.columns ?? 80) - 1));
    }
  };

  /** Makes room for what is said next. */
  clear(): void {
    if (this.#output.isTTY) this.#output.write(ERASE_LINE);
  }
}

function describe({ doing, done, total }: Progress, rate: number): string {
  const parts = [total === undefined ? `${doing}: ${done}` : `${doing}: ${done} of ${total}`];
  if (total !== undefined && total > 0) parts.push(`${Math.floor((100 * done) / total)} %`);
  if (Number.isFinite(rate) && rate > 0) {
    parts.push(`${Math.round(rate)}/s`);
    if (total !== undefined && total >= done) parts.push(`${duration((total - done) / rate)} left`);
  }
  return parts.join(', ');
}

function bar({ done, total }: Progress): string {
  if (total === undefined || total === 0) return '';
  const full = Math.min(BAR_WIDTH, Math.floor((BAR_WIDTH * done) / total));
  return `${'█'.repeat(full)}${'░'.repeat(BAR_WIDTH - full)} `;
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
