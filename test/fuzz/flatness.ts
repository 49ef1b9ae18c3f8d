import { type Point, slope } from '../soak/slope.ts';
import type { Progress } from './campaign.ts';
import type { Held } from './fuzz-target.ts';

const MIB = 2 ** 20;

/** The part of a run that fills caches and pools, and lets the compiler work. */
const WARM_UP = 0.3;

/** The fewest samples after the warm-up that say something. */
const MIN_SAMPLES = 8;

/** What a stored pet may take in memory, in bytes. The catalogue in memory was measured at 600 with long names. */
const BYTES_A_PET = 1_024;

/** By how much memory may seem to grow after the warm-up, by its slope. Each is far below 32 bytes a request. */
const MAX_GROWTH_BYTES = { heapBytes: 12 * MIB, externalBytes: 4 * MIB, rssBytes: 64 * MIB } as const;

/** By how many handles may be open at the end: files and timers that begin with the first requests. */
const MAX_MORE_HANDLES = 4;

type Sample = { readonly held: Held; readonly requests: number; readonly pets: number };

/** Watches whether a service holds more and more. */
export class Flatness {
  readonly #isInMemory: boolean;
  readonly #samples: Sample[] = [];
  readonly #first: Held;

  /** @param options.isInMemory whether the pets are in the memory of the service */
  constructor(first: Held, { isInMemory }: { readonly isInMemory: boolean }) {
    this.#first = first;
    this.#isInMemory = isInMemory;
  }

  note(held: Held, { requests, pets }: Progress): void {
    this.#samples.push({ held, requests, pets });
  }

  /** What grew, one line each, and the figures. */
  verdict(): { readonly problems: readonly string[]; readonly figures: readonly string[] } {
    const problems: string[] = [];
    const figures: string[] = [];
    const warm = this.#samples.slice(Math.ceil(this.#samples.length * WARM_UP));
    const [from, to] = [warm[0], warm.at(-1)];
    if (from === undefined || to === undefined || warm.length < MIN_SAMPLES) {
      figures.push(`memory: too short a run to judge (${warm.length} samples after the warm-up)`);
    } else {
      for (const [name, limit] of Object.entries(MAX_GROWTH_BYTES) as ['heapBytes', number][]) {
        const growth = slope(warm.map((sample) => this.#point(sample, name))) * (to.requests - from.requests);
        const line = `${name}: ${inMib(growth)} MiB by its slope in ${to.requests - from.requests} requests`;
        figures.push(`${line} (at most ${inMib(limit)}), ${inMib(to.held[name])} MiB at the end`);
        if (growth > limit) problems.push(line);
      }
    }
    const last = this.#samples.at(-1)?.held ?? this.#first;
    for (const name of ['resources', 'descriptors'] as const) {
      const line = `${name}: ${this.#first[name]} at the beginning, ${last[name]} at the end`;
      figures.push(line);
      if (last[name] > this.#first[name] + MAX_MORE_HANDLES) problems.push(line);
    }
    return { problems, figures };
  }

  #point({ held, requests, pets }: Sample, name: keyof typeof MAX_GROWTH_BYTES): Point {
    const catalogue = this.#isInMemory && name !== 'externalBytes' ? pets * BYTES_A_PET : 0;
    return { x: requests, y: held[name] - catalogue };
  }
}

function inMib(bytes: number): string {
  return (bytes / MIB).toFixed(1);
}
