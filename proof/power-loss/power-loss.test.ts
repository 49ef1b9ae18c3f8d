import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { STRACE_MISSING } from '../../test/support/strace.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../../test/support/temporary-directory.ts';
import { Disk, NO_LOSS } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { enumerate } from './enumerate.ts';
import { recordStart } from './lives.ts';
import { type Fault, Recording } from './recording.ts';
import { searchLife } from './search-lives.ts';

const CC_MISSING = spawnSync('cc', ['--version']).status === 0 ? undefined : 'cc is missing';

const isLog = (path: string) => path.endsWith('-wal');

const leftOut = (missing: string | undefined) => (missing === undefined ? '' : ` (left out: ${missing})`);

describe.skipIf(STRACE_MISSING !== undefined)(`a power cut at any moment${leftOut(STRACE_MISSING)}`, () => {
  let memory: TemporaryDirectory;
  let recording: Recording;

  beforeAll(async () => {
    const disk = await temporaryDirectory('power-loss');
    memory = await temporaryDirectory('power-loss-states', { inMemory: true });
    const directory = join(disk.path, 'disk');
    await mkdir(directory);
    recording = new Recording(directory);
    await recordStart(recording);
    return async () => {
      await disk.remove();
      await memory.remove();
    };
  });

  function enumerated(change: (event: DiskEvent, number: number) => DiskEvent = (event) => event) {
    const { events, runs, build } = recording;
    // A test that takes too long goes on beside the next one.
    return enumerate({ events: events.map(change), runs, build }, join(memory.path, `${Math.random()}`));
  }

  it('or a kill before any sync leaves every acknowledged pet, gives no id again, and is no surprise to the next start', async () => {
    const { states, wrong } = await enumerated();
    expect(wrong).toStrictEqual([]);
    expect(states).toBeGreaterThan(200);
  });

  it.each([
    ['the write-ahead log', isLog],
    ['the directory of the database', (path: string) => path === recording.directory],
  ])('would lose pets if %s were not flushed', async (_, isForgotten) => {
    const { wrong } = await enumerated((event) =>
      event.type === 'sync' && isForgotten(event.path) ? { type: 'acknowledged', pets: [] } : event,
    );
    expect(wrong[0]).toMatch(/pets are lost|given again|the SQLite file/);
  });

  it('would lose pets if a service went on after a failed flush, although the next one succeeds', async () => {
    let isFirst = true;
    const { wrong } = await enumerated((event, number) => {
      if (event.type !== 'sync' || !isLog(event.path) || number < 20 || !isFirst) return event;
      isFirst = false;
      return { ...event, type: 'failed' };
    });
    expect(wrong[0]).toMatch(/pets are lost/);
  });

  it.skipIf(CC_MISSING !== undefined)(
    `loses no pet after a flush that fails, before and after the next start${leftOut(CC_MISSING)}`,
    async () => {
      const fault = ({ run, file, at }: Fault) => run === 1 && isLog(file) && at === 4;
      const life = 'starts after a kill';
      // Without the fault, the long search opens them.
      const opened = new Set(['a kill during a flush', 'a start', 'one more start']);
      const { lives, states, wrong } = await searchLife(life, recording, memory.path, opened, fault);
      expect({ lives, wrong }).toStrictEqual({ lives: 3, wrong: [] });
      expect(states).toBeGreaterThan(200);
    },
  );
});

it('a page that a failed write-back drops is read until it is evicted, and is written when it changes again', () => {
  const path = '/d/file';
  const disk = new Disk();
  const write = (bytes: string) =>
    disk.apply({ type: 'write', path, offset: 0, bytes: Buffer.from(bytes) }, 0);
  const end = (type: 'sync' | 'failed', of = path) => disk.apply({ type, path: of, covers: 1 }, 0);
  const files = () => [disk.cached(), disk.afterLoss(NO_LOSS)].map((each) => String(each.get(path)));
  disk.apply({ type: 'create', path }, 0);
  write('old!');
  for (const each of [path, '/d']) end('sync', each);
  write('new');
  for (const each of ['failed', 'sync'] as const) end(each);
  expect(files()).toStrictEqual(['new!', 'old!']);
  write('N');
  end('sync');
  expect(files()).toStrictEqual(['New!', 'New!']);
  write('bad');
  end('failed');
  disk.apply({ type: 'evicted' }, 0);
  expect(files()).toStrictEqual(['New!', 'New!']);
});
