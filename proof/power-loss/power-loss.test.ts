import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STRACE_MISSING } from '../../test/support/strace.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../../test/support/temporary-directory.ts';
import { Disk, NO_LOSS } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { enumerate } from './enumerate.ts';
import { recordStart } from './lives.ts';
import { Recording } from './recording.ts';
import { LifeSearch } from './search-lives.ts';

const CC_MISSING = spawnSync('cc', ['--version']).status === 0 ? undefined : 'cc is missing';

const leftOut = (missing: string | undefined) => (missing === undefined ? '' : ` (left out: ${missing})`);

describe.skipIf(STRACE_MISSING !== undefined)(`a power cut at any moment${leftOut(STRACE_MISSING)}`, () => {
  let disk: TemporaryDirectory;
  let memory: TemporaryDirectory;
  let recording: Recording;

  beforeAll(async () => {
    disk = await temporaryDirectory('power-loss');
    memory = await temporaryDirectory('power-loss-states', { inMemory: true });
    const directory = join(disk.path, 'disk');
    await mkdir(directory);
    recording = new Recording(directory);
    await recordStart(recording);
  });

  afterAll(async () => {
    await disk.remove();
    await memory.remove();
  });

  function enumerated(change: (event: DiskEvent, number: number) => DiskEvent = (event) => event) {
    const { events, runs } = recording;
    return enumerate({ events: events.map(change), runs }, memory.path);
  }

  const isLog = (path: string) => path.endsWith('-wal');

  it('or a kill before any sync leaves every acknowledged pet, gives no id again, and is no surprise to the next start', async () => {
    const { states, wrong } = await enumerated();
    expect(wrong).toStrictEqual([]);
    expect(states).toBeGreaterThan(200);
  });

  it.each([
    ['the write-ahead log', isLog],
    ['the directory of the database', (path: string) => path === dirname(recording.path('petstore.db'))],
  ])('would lose pets if %s were not flushed', async (_, isForgotten) => {
    const { wrong } = await enumerated((event) =>
      event.type === 'sync' && isForgotten(event.path) ? { type: 'acknowledged', pets: [] } : event,
    );
    expect(wrong[0]).toMatch(/pets are lost|given again|is refused/);
  });

  it('would lose pets if a service went on after a failed flush, although the next one succeeds', async () => {
    const { events } = recording;
    const acknowledged = events.findIndex(({ type }) => type === 'acknowledged');
    const flush = events.findLastIndex(({ type }, number) => type === 'sync' && number < acknowledged);
    const { wrong } = await enumerated((event, number) =>
      number === flush && event.type === 'sync' ? { ...event, type: 'failed', first: 0 } : event,
    );
    expect(wrong[0]).toMatch(/pets are lost/);
  });

  it.skipIf(CC_MISSING !== undefined)(
    `loses no pet after a flush that fails, before and after the next start${leftOut(CC_MISSING)}`,
    async () => {
      const { lives, states, wrong } = await new LifeSearch(recording, memory.path).search(
        'starts after a kill',
        ({ run, file, at }) => run === 1 && isLog(file) && at === 5,
      );
      expect(wrong).toStrictEqual([]);
      expect(lives).toBe(3);
      expect(states).toBeGreaterThan(200);
    },
    60_000,
  );
});

it('a page that a failed write-back drops is read until it is evicted, and is written when it changes again', () => {
  const path = '/d/file';
  const disk = new Disk();
  const apply = (...events: DiskEvent[]) => {
    for (const [number, event] of events.entries()) disk.apply(event, number);
  };
  const write = (offset: number, bytes: string) =>
    ({ type: 'write', path, offset, bytes: Buffer.from(bytes) }) as const;
  const start = (files: ReadonlyMap<string, Buffer>) => files.get(path)!.toString('latin1', 0, 4);
  apply({ type: 'create', path }, write(0, 'old '.repeat(2_000)), { type: 'sync', path: '/d', covers: 2 });
  apply({ type: 'sync', path, covers: 2 }, write(0, 'new'), { type: 'failed', path, covers: 2, first: 0 });
  apply({ type: 'sync', path, covers: 9 });
  expect([start(disk.cached()), start(disk.afterLoss(NO_LOSS))]).toStrictEqual(['new ', 'old ']);
  apply(write(3, '!'), { type: 'sync', path, covers: 1 });
  expect(start(disk.afterLoss(NO_LOSS))).toBe('new!');
  apply(write(0, 'bad'), { type: 'failed', path, covers: 1, first: 0 }, { type: 'evicted' });
  expect(start(disk.cached())).toBe('new!');
});
