import { spawnSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { STRACE_MISSING } from '../../test/support/strace.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../../test/support/temporary-directory.ts';
import { Disk, NO_LOSS } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { searchStates } from './enumerate.ts';
import { recordStart } from './lives.ts';
import { type Fault, Recording } from './recording.ts';
import { searchLife } from './search-lives.ts';

const CC_MISSING = spawnSync('cc', ['--version']).status === 0 ? undefined : 'cc is missing';

const isLog = (path: string) => path.endsWith('-wal');

const skipNote = (missing: string | undefined) => (missing === undefined ? '' : ` (left out: ${missing})`);

describe.skipIf(STRACE_MISSING !== undefined)(`the power-loss search${skipNote(STRACE_MISSING)}`, () => {
  let memoryDirectory: TemporaryDirectory;
  let recording: Recording;

  beforeAll(async () => {
    const diskDirectory = await temporaryDirectory('power-loss');
    memoryDirectory = await temporaryDirectory('power-loss-states', { inMemory: true });
    const directory = join(diskDirectory.path, 'disk');
    await mkdir(directory);
    recording = new Recording(directory);
    await recordStart(recording);
    return async () => {
      await diskDirectory.remove();
      await memoryDirectory.remove();
    };
  });

  /** Searches the states of the first start. `change` may put a fault into the recorded events. */
  function search(change: (event: DiskEvent, number: number) => DiskEvent = (event) => event) {
    const { events, runs, build } = recording;
    // Each search has its own directory, because the search of a test that timed out continues during the next test.
    const directory = join(memoryDirectory.path, `${Math.random()}`);
    return searchStates({ events: events.map(change), runs, build }, directory);
  }

  it('finds no lost pet, no id that is assigned twice and no refused start after a power cut or a kill at any moment of a first start', async () => {
    const { states, problems } = await search();
    expect(problems).toStrictEqual([]);
    expect(states).toBeGreaterThan(200);
  });

  it.each([
    ['the write-ahead log', isLog],
    ['the directory of the database', (path: string) => path === recording.directory],
  ])('finds a problem when the service does not flush %s', async (_, isUnflushed) => {
    const { problems } = await search((event) =>
      event.type === 'sync' && isUnflushed(event.path) ? { type: 'acknowledged', pets: [] } : event,
    );
    expect(problems[0]).toMatch(/pets are lost|assigned twice|the SQLite file/);
  });

  it('finds lost pets when the service continues after a failed flush, although the next flush succeeds', async () => {
    let isFirst = true;
    const { problems } = await search((event, number) => {
      if (event.type !== 'sync' || !isLog(event.path) || number < 20 || !isFirst) return event;
      isFirst = false;
      return { ...event, type: 'failed' };
    });
    expect(problems[0]).toMatch(/pets are lost/);
  });

  it.skipIf(CC_MISSING !== undefined)(
    `finds no problem when one flush of the log fails and the service is started again${skipNote(CC_MISSING)}`,
    async () => {
      const isChosen = ({ run, file, sync }: Fault) => run === 1 && isLog(file) && sync === 4;
      const life = 'starts after a kill';
      // The states of these runs without the fault are not opened here. `npm run power-loss` opens them.
      const openedRuns = new Set(['a kill during a flush', 'a start', 'one more start']);
      const result = await searchLife(life, recording, memoryDirectory.path, openedRuns, isChosen);
      expect(result).toMatchObject({ lives: 3, problems: [] });
      expect(result.states).toBeGreaterThan(200);
    },
  );
});

it('Disk shows a page that a failed write-back dropped until the page is evicted, and writes the page after its next change', () => {
  const path = '/d/file';
  const disk = new Disk();
  const write = (bytes: string) =>
    disk.apply({ type: 'write', path, offset: 0, bytes: Buffer.from(bytes) }, 0);
  const sync = (type: 'sync' | 'failed', of = path) => disk.apply({ type, path: of, coversBefore: 1 }, 0);
  const contents = () => [disk.cached(), disk.afterLoss(NO_LOSS)].map((files) => String(files.get(path)));
  disk.apply({ type: 'create', path }, 0);
  write('old!');
  for (const syncedPath of [path, '/d']) sync('sync', syncedPath);
  write('new');
  for (const type of ['failed', 'sync'] as const) sync(type);
  expect(contents()).toStrictEqual(['new!', 'old!']);
  write('N');
  sync('sync');
  expect(contents()).toStrictEqual(['New!', 'New!']);
  write('bad');
  sync('failed');
  disk.apply({ type: 'evicted' }, 0);
  expect(contents()).toStrictEqual(['New!', 'New!']);
});
