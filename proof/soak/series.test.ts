import { expect, test } from 'vitest';
import { judgeSeries, type Sample, type SeriesName } from './series.ts';

const MIB = 2 ** 20;

/**
 * Returns samples of a healthy service over an hour. Garbage makes the heap rise and fall in steps that grow, resident
 * memory is high at the end, the machine stalls from time to time, and pets are added to a file.
 *
 * @param change returns fields that replace those of a sample
 */
function samples(change: (sample: Sample, hours: number) => Partial<Sample> = () => ({})): readonly Sample[] {
  return Array.from({ length: 240 }, (_, index) => {
    const hours = index / 240;
    const stalls = index % 31 === 0;
    const sample: Sample = {
      atMs: index * 15_000,
      heapBytes: (30 + (index % 5) * (4 + 4 * hours)) * MIB + (index < 40 ? -(40 - index) * MIB : 0),
      rssBytes: (120 + (index % 3) + (index > 230 ? 300 : 0)) * MIB,
      externalBytes: 8 * MIB,
      descriptors: 30 + (index % 4),
      resources: 14 + (index % 3),
      loopDelayMs: stalls ? 400 : 15,
      walBytes: 4 * MIB,
      databaseBytes: index * 100_000,
      p99Ms: stalls ? 900 : 20,
      pets: index * 1_000,
    };
    return { ...sample, ...change(sample, hours) };
  });
}

test('judgeSeries finds no growth in the samples of a healthy service', () => {
  expect(judgeSeries(samples(), 'in a file').filter(({ holds }) => !holds)).toStrictEqual([]);
});

test.each<[SeriesName, number]>([
  ['heapBytes', 12 * MIB],
  ['rssBytes', 50 * MIB],
  ['externalBytes', 8 * MIB],
  ['descriptors', 10],
  ['resources', 12],
  ['loopDelayMs', 60],
  ['walBytes', 20 * MIB],
  ['databaseBytes', 60 * MIB],
  ['p99Ms', 90],
])('judgeSeries finds that only %s grows if it grows by %d in the hour', (name, growth) => {
  const leaking = samples((sample, hours) => ({ [name]: sample[name] + growth * hours }));
  const grew = judgeSeries(leaking, 'in a file').filter(({ holds }) => !holds);
  expect(grew.map((row) => row.name)).toStrictEqual([name]);
});

test('judgeSeries allows memory to grow with the pets only if they are in the memory of the service', () => {
  const grown = samples((sample) => ({ databaseBytes: 0, heapBytes: sample.heapBytes + sample.pets * 800 }));
  expect(judgeSeries(grown, 'in memory').every(({ holds }) => holds)).toBe(true);
  expect(judgeSeries(grown, 'elsewhere').every(({ holds }) => holds)).toBe(false);
});

test('judgeSeries throws if the run was too short to decide', () => {
  expect(() => judgeSeries(samples().slice(0, 20), 'in a file')).toThrow('only 14 samples');
});
