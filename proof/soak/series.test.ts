import { expect, test } from 'vitest';
import { rowsOf, type Sample, type SeriesName } from './series.ts';

const MIB = 2 ** 20;

/**
 * An hour of a healthy service: the heap is a saw with more and more garbage, memory is busy at the end, the machine
 * stalls now and then, and pets are added to a file.
 */
function samples(spoil: (sample: Sample, hours: number) => Partial<Sample> = () => ({})): readonly Sample[] {
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
    return { ...sample, ...spoil(sample, hours) };
  });
}

test('a healthy service', () => {
  expect(rowsOf(samples(), 'in a file').filter(({ holds }) => !holds)).toStrictEqual([]);
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
])('%s that grows by %d in the hour is found, and nothing else', (name, growth) => {
  const leaking = samples((sample, hours) => ({ [name]: sample[name] + growth * hours }));
  const grew = rowsOf(leaking, 'in a file').filter(({ holds }) => !holds);
  expect(grew.map((row) => row.name)).toStrictEqual([name]);
});

test('pets in memory may take memory', () => {
  const grown = samples((sample) => ({ databaseBytes: 0, heapBytes: sample.heapBytes + sample.pets * 800 }));
  expect(rowsOf(grown, 'in memory').every(({ holds }) => holds)).toBe(true);
  expect(rowsOf(grown, 'elsewhere').every(({ holds }) => holds)).toBe(false);
});

test('a short run decides nothing', () => {
  expect(() => rowsOf(samples().slice(0, 20), 'in a file')).toThrow('only 14 samples');
});
