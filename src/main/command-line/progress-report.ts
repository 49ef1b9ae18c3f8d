import type { Progress } from '../../application/ports/pet-archive.ts';
import type { Output } from '../program/process.ts';

const BAR_EVERY_MS = 100;
const LINE_EVERY_MS = 5_000;
const TICK_MS = 1_000;

const STILL_WORKING = 'still working';

const BAR_WIDTH = 24;
const ERASE_LINE = '\r\x1b[K';

/** Shows a bar on a terminal, and a line every 5 s on other outputs. */
export class ProgressReport {
  readonly #output: Output;
  readonly #nowMs: () => number;
  #firstOfKind: (Progress & { readonly atMs: number }) | undefined;
  #text = STILL_WORKING;
  #lastAtMs: number;
  #hasBar = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: Output, nowMs: () => number = () => performance.now()) {
    this.#output = output;
    this.#nowMs = nowMs;
    this.#lastAtMs = nowMs();
  }

  /** Until {@link clear}, lines appear even while the work reports nothing. */
  start(): void {
    if (!this.#output.isTTY) this.#timer = setInterval(() => this.#show(this.#nowMs()), TICK_MS).unref();
  }

  readonly update = (progress: Progress): void => {
    const atMs = this.#nowMs();
    // Each kind of work has its own rate.
    if (this.#firstOfKind?.doing !== progress.doing) this.#firstOfKind = { ...progress, atMs };
    const perSecond = (1000 * (progress.done - this.#firstOfKind.done)) / (atMs - this.#firstOfKind.atMs);
    // After this work, the next step may wait for an unresponsive storage.
    const isOver = progress.done === progress.total;
    const progressText = `${this.#output.isTTY ? bar(progress) : ''}${describe(progress, perSecond)}`;
    this.#text = isOver ? STILL_WORKING : progressText;
    if (isOver && this.#output.isTTY) this.#lastAtMs = -Infinity;
    this.#show(atMs);
  };

  clear(): void {
    clearInterval(this.#timer);
    if (this.#hasBar) this.#output.write(ERASE_LINE);
    this.#hasBar = false;
  }

  #show(atMs: number): void {
    const { isTTY, columns = 80 } = this.#output;
    if (atMs - this.#lastAtMs < (isTTY ? BAR_EVERY_MS : LINE_EVERY_MS)) return;
    this.#lastAtMs = atMs;
    this.#hasBar = isTTY === true;
    // 0 columns: the width is unknown.
    const visibleText = this.#text.slice(0, columns === 0 ? undefined : columns - 1);
    this.#output.write(isTTY ? ERASE_LINE + visibleText : `petstore: ${this.#text}\n`);
  }
}

function describe({ doing, done, total }: Progress, perSecond: number): string {
  const parts = [total === undefined ? `${doing}: ${done}` : `${doing}: ${done} of ${total}`];
  if (total !== undefined && total > 0) parts.push(`${Math.floor((100 * done) / total)} %`);
  if (Number.isFinite(perSecond) && perSecond > 0) {
    parts.push(`${Math.round(perSecond)}/s`);
    if (total !== undefined && total >= done) parts.push(`${duration((total - done) / perSecond)} left`);
  }
  return parts.join(', ');
}

function bar({ done, total }: Progress): string {
  if (total === undefined || total === 0) return '';
  const filled = Math.min(BAR_WIDTH, Math.floor((BAR_WIDTH * done) / total));
  return `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} `;
}

/** For example `2h 1m 5s`. */
function duration(inSeconds: number): string {
  const wholeSeconds = Math.ceil(inSeconds);
  const [minutes, seconds] = [Math.floor(wholeSeconds / 60), wholeSeconds % 60];
  const parts = { hours: Math.floor(minutes / 60), minutes: minutes % 60, seconds };
  return new Intl.DurationFormat('en', { style: 'narrow' }).format(parts);
}
