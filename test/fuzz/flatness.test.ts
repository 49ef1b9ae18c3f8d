import { expect, test } from 'vitest';
import { Flatness } from './flatness.ts';
import type { Held } from './fuzz-target.ts';

const MIB = 2 ** 20;

/** The verdict on a run of a million requests, in which a service holds this after each round. */
function problemsOf(heldAt: (round: number) => Partial<Held>, isInMemory = false): readonly string[] {
  const healthy = {
    heapBytes: 30 * MIB,
    externalBytes: 4 * MIB,
    rssBytes: 130 * MIB,
    resources: 4,
    descriptors: 25,
  };
  const flatness = new Flatness(healthy, { isInMemory });
  for (let round = 1; round <= 100; round++) {
    const noise = {
      heapBytes: healthy.heapBytes + (round % 7) * MIB,
      rssBytes: healthy.rssBytes + (round % 5) * MIB,
    };
    const progress = { requests: round * 10_000, answers: 0, cases: 0, pets: round * 1_700 };
    flatness.note({ ...healthy, ...noise, ...heldAt(round) }, progress);
  }
  return flatness.verdict().problems;
}

test('a healthy service is flat', () => {
  expect(problemsOf(() => ({}))).toStrictEqual([]);
});

test.each<[keyof Held, (round: number) => number]>([
  // 32 bytes for each request.
  ['heapBytes', (round) => 30 * MIB + round * 10_000 * 32],
  ['externalBytes', (round) => 4 * MIB + round * 10_000 * 32],
  ['rssBytes', (round) => 130 * MIB + round * 10_000 * 128],
  ['resources', (round) => 4 + Math.floor(round / 10)],
  ['descriptors', (round) => 25 + Math.floor(round / 10)],
])('%s that grow are found', (name, value) => {
  expect(problemsOf((round) => ({ [name]: value(round) }))).toStrictEqual([
    expect.stringMatching(`^${name}`),
  ]);
});

test('the pets of a catalogue in memory may grow', () => {
  const withPets = (round: number) => ({ heapBytes: 30 * MIB + round * 1_700 * 600 });
  expect(problemsOf(withPets, true)).toStrictEqual([]);
  expect(problemsOf(withPets, false)).toHaveLength(1);
});
