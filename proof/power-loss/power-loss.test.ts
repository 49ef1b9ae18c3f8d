import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { STRACE_MISSING } from '../../test/support/strace.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import type { DiskEvent } from './disk-event.ts';
import { enumerate } from './enumerate.ts';
import { Recording } from './recording.ts';
import { recordStart } from './scenario.ts';

const leftOut = STRACE_MISSING === undefined ? '' : ` (left out: ${STRACE_MISSING})`;

describe.skipIf(STRACE_MISSING !== undefined)(`a power cut at any moment${leftOut}`, () => {
  let recording: Recording;

  beforeAll(async () => {
    await using disk = await temporaryDirectory('power-loss');
    const directory = join(disk.path, 'disk');
    await mkdir(directory);
    recording = new Recording(directory);
    await recordStart(recording);
  });

  async function enumerated(change: (event: DiskEvent) => DiskEvent = (event) => event) {
    await using memory = await temporaryDirectory('power-loss-states', { inMemory: true });
    const { events, runs } = recording;
    return await enumerate({ events: events.map(change), runs }, memory.path);
  }

  /** The same events, as if these syncs had not happened. */
  const forgetting = (isForgotten: (path: string) => boolean) =>
    enumerated((event) =>
      event.type === 'sync' && isForgotten(event.path) ? { type: 'acknowledged', pets: [] } : event,
    );

  it('or a kill before any sync leaves every acknowledged pet, gives no id again, and is no surprise to the next start', async () => {
    const { states, refused, wrong } = await enumerated();
    expect(wrong).toStrictEqual([]);
    expect([...refused]).toStrictEqual([]);
    expect(states).toBeGreaterThan(200);
  });

  it.each([
    ['the write-ahead log', (path: string) => path.endsWith('-wal')],
    ['the directory of the database', (path: string) => path === dirname(recording.path('petstore.db'))],
  ])('would lose pets if %s were not flushed', async (_, isForgotten) => {
    const { wrong } = await forgetting(isForgotten);
    expect(wrong[0]).toMatch(/pets are lost|given again/);
  });
});
