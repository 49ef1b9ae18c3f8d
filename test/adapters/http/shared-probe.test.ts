import { expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageState } from '../../../src/application/ports/storage-health.ts';
import { sharedProbe } from '../../../src/adapters/http/shared-probe.ts';
import { fakeClock } from '../../support/fake-clock.ts';

const STATE: StorageState = { lastId: 7n };

/** A shared probe, a clock, and the probes of the storage, which the test completes. */
function controlled() {
  const { advance } = fakeClock();
  const probes: PromiseWithResolvers<StorageState>[] = [];
  const check = () => {
    const probe = Promise.withResolvers<StorageState>();
    probes.push(probe);
    return probe.promise;
  };
  return { advance, probes, shared: sharedProbe({ check }) };
}

it.each([
  ['a success', (probe: PromiseWithResolvers<StorageState>) => probe.resolve(STATE)],
  ['a failure', (probe: PromiseWithResolvers<StorageState>) => probe.reject(new StorageUnavailable('away'))],
])('shares %s while it is under way, and for a second from its beginning', async (_, end) => {
  const { advance, probes, shared } = controlled();
  const asked = [shared.check(), shared.check()];
  advance(400);
  end(probes[0]!);
  await Promise.allSettled(asked.slice(0, 1));
  advance(599);
  asked.push(shared.check());
  expect(probes).toHaveLength(1);
  const first = await Promise.allSettled(asked);

  expect(new Set(first.map(({ status }) => status)).size).toBe(1);
  advance(1);
  const next = shared.check();
  expect(probes).toHaveLength(2);
  probes[1]!.resolve(STATE);
  expect(await next).toBe(STATE);
});

it('shares a probe that takes longer than a second until it ends', async () => {
  const { advance, probes, shared } = controlled();
  const first = shared.check();
  advance(1_500);
  const second = shared.check();
  expect(probes).toHaveLength(1);
  probes[0]!.resolve(STATE);
  await Promise.all([first, second]);

  void shared.check();
  expect(probes).toHaveLength(2);
});
