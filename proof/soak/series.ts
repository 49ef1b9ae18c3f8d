/** What was measured at one moment. Times are in milliseconds. */
export type Sample = {
  /** The time since the beginning of the load. */
  readonly atMs: number;
  readonly heapBytes: number;
  readonly rssBytes: number;
  readonly externalBytes: number;
  readonly descriptors: number;
  /** The number of handles that keep the event loop alive, such as sockets and timers. */
  readonly resources: number;
  /** The 99th percentile of the delays of the event loop since the last sample. */
  readonly loopDelayMs: number;
  /** The size of the write-ahead log, or 0 if the storage has none. */
  readonly walBytes: number;
  readonly databaseBytes: number;
  /** The 99th percentile of the latencies since the last sample, as the clients measured them. */
  readonly p99Ms: number;
  /** The number of pets that have been added so far. */
  readonly pets: number;
};

export type SeriesName = Exclude<keyof Sample, 'atMs' | 'pets'>;

/** The share of a run in which caches and pools fill, and V8 compiles the code. This part is not judged. */
const WARM_UP = 0.3;

/** The smallest number of samples after the warm-up that is enough to decide. */
const MIN_SAMPLES = 20;

/**
 * The number of successive samples of the heap that form a group. The heap rises until the next garbage collection, so
 * only the smallest sample of a group counts.
 */
const HEAP_WINDOW = 5;

export const MIB = 2 ** 20;

/** What a pet may take in a SQLite file with its indexes, in bytes. It was measured at 110. */
const BYTES_PER_PET_ON_DISK = 200;

/** What a pet may take in the memory of a service that keeps its pets there, in bytes. */
const BYTES_PER_PET_IN_MEMORY = 1_024;

type Bound = {
  readonly title: string;
  readonly unit: 'MiB' | 'ms' | '';
  /** The growth that is allowed after the warm-up. `level` is the median of the series. */
  readonly atMost: (level: number) => number;
  /** The reason why the series may grow so much. */
  readonly because: string;
};

/** The bound of each series. Measurements on a shared machine are noisy, so the bounds only find lasting growth. */
export const BOUNDS = {
  heapBytes: {
    title: 'heap',
    unit: 'MiB',
    atMost: () => 6 * MIB,
    because: 'garbage that is not collected yet, and compiled code',
  },
  rssBytes: {
    title: 'resident memory',
    unit: 'MiB',
    atMost: (level) => Math.max(24 * MIB, level * 0.15),
    because: 'the allocator and V8 keep free pages',
  },
  externalBytes: {
    title: 'external memory',
    unit: 'MiB',
    atMost: () => 4 * MIB,
    because: 'buffers that are not collected yet',
  },
  descriptors: {
    title: 'file descriptors',
    unit: '',
    atMost: () => 4,
    because: 'connections of the clients come and go',
  },
  resources: {
    title: 'handles',
    unit: '',
    atMost: () => 6,
    because: 'connections and timers come and go',
  },
  loopDelayMs: {
    title: 'delay of the event loop, p99',
    unit: 'ms',
    atMost: (level) => Math.max(20, level / 2),
    because: 'other programs on the machine',
  },
  walBytes: {
    title: 'write-ahead log',
    unit: 'MiB',
    atMost: () => 8 * MIB,
    because: 'a checkpoint comes after 4 MiB and waits for readers',
  },
  databaseBytes: {
    title: 'database file',
    unit: 'MiB',
    atMost: () => 2 * MIB,
    because: `it grows with the pets; ${BYTES_PER_PET_ON_DISK} bytes for each one are subtracted`,
  },
  p99Ms: {
    title: 'answers, p99',
    unit: 'ms',
    atMost: (level) => Math.max(30, level / 2),
    because: 'other programs on the machine',
  },
} as const satisfies Record<SeriesName, Bound>;

const ALL_SERIES = Object.keys(BOUNDS) as SeriesName[];

export type Verdict = {
  readonly name: SeriesName;
  /** The median after the warm-up. */
  readonly level: number;
  /** The growth after the warm-up, computed from the slope, without the space that the added pets may take. */
  readonly growth: number;
  readonly atMost: number;
  readonly holds: boolean;
};

/** Where a service keeps its pets. */
export type Place = 'in memory' | 'in a file' | 'elsewhere';

/**
 * Decides for each series whether it grew too much after the warm-up. Its growth is its Theil-Sen slope times the
 * length of that time.
 *
 * @throws {Error} when the run was too short to decide
 */
export function judgeSeries(samples: readonly Sample[], pets: Place): readonly Verdict[] {
  const end = samples.at(-1)?.atMs ?? 0;
  const judged = samples.filter(({ atMs }) => atMs >= end * WARM_UP);
  if (judged.length < MIN_SAMPLES) throw new Error(`only ${judged.length} samples after the warm-up`);
  const lengthMs = end - judged[0]!.atMs;
  return ALL_SERIES.map((name) => {
    const values = pointsOf(name, judged, pets);
    const level = median(judged.map((sample) => sample[name]));
    const growth = slope(values) * lengthMs;
    const atMost = BOUNDS[name].atMost(level);
    return { name, level, growth, atMost, holds: growth <= atMost };
  });
}

function pointsOf(name: SeriesName, samples: readonly Sample[], pets: Place): readonly Point[] {
  const isFile = name === 'databaseBytes' && pets === 'in a file';
  const isMemory = (name === 'heapBytes' || name === 'rssBytes') && pets === 'in memory';
  const bytesPerPet = isFile ? BYTES_PER_PET_ON_DISK : isMemory ? BYTES_PER_PET_IN_MEMORY : 0;
  const points = samples.map((sample) => ({ x: sample.atMs, y: sample[name] - bytesPerPet * sample.pets }));
  if (name !== 'heapBytes') return points;
  return points
    .filter((_, index) => index % HEAP_WINDOW === 0)
    .map(({ x }, index) => {
      const window = points.slice(index * HEAP_WINDOW, (index + 1) * HEAP_WINDOW);
      return { x, y: Math.min(...window.map(({ y }) => y)) };
    });
}

type Point = { readonly x: number; readonly y: number };

/**
 * Returns the Theil-Sen slope: the median of the slopes between any two points. Single outliers, such as those of a
 * garbage collection or of a busy machine, do not change it.
 */
function slope(points: readonly Point[]): number {
  return median(
    points.flatMap((from, index) => points.slice(index + 1).map((to) => (to.y - from.y) / (to.x - from.x))),
  );
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}
