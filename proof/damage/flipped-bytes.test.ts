import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { newFile } from '../../test/support/sqlite.ts';
import { testDirectory } from '../../test/support/test-directory.ts';
import { judgeFlip, PETS, type Verdict, writeSmallFile } from './flipped-byte.ts';

/** `npm run test:damage` changes every byte, in each of its bits and in all of them at once. */
const isComplete = process.env['DAMAGE_BYTES'] === 'all';
const SEED = Number(process.env['DAMAGE_SEED'] ?? 15);
const MASKS = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/** The number of bytes of which the short form changes one. */
const STRIDE = 48;

const LAST_PET = PETS.at(-1)!;

const TWO_HOURS = { timeout: 2 * 3_600_000 } as const;

/** Which bits of which bytes to change. */
function* flipsOf(length: number): Generator<readonly [offset: number, mask: number]> {
  if (isComplete) {
    for (let offset = 0; offset < length; offset++) for (const mask of MASKS) yield [offset, mask];
    return;
  }
  const random = new SeededRandom(SEED);
  for (let start = 0; start + STRIDE <= length; start += STRIDE) {
    yield [start + random.below(STRIDE), random.integer(1, 255)];
  }
}

async function smallFile(change = ''): Promise<Buffer> {
  const file = await newFile();
  await writeSmallFile(file);
  {
    using db = new DatabaseSync(file);
    db.exec(change);
  }
  return readFile(file);
}

describe('a SQLite file with a changed byte', () => {
  it('is refused at start, or gives right answers and errors of the storage', TWO_HOURS, async () => {
    const soundBytes = await smallFile();
    const directory = await testDirectory();
    const counts: Record<Verdict['outcome'], number> = { right: 0, error: 0, refused: 0, wrong: 0 };
    const wrong: string[] = [];
    for (const [offset, mask] of flipsOf(soundBytes.length)) {
      const caseDirectory = join(directory, `${offset}-${mask}`);
      await mkdir(caseDirectory);
      const { outcome, reason } = await judgeFlip(
        soundBytes,
        join(caseDirectory, 'petstore.db'),
        offset,
        mask,
      );
      await rm(caseDirectory, { recursive: true });
      counts[outcome]++;
      if (outcome === 'wrong') wrong.push(`byte ${offset} ^ ${mask}: ${reason}`);
    }
    if (isComplete) console.log(`${soundBytes.length} bytes, ${JSON.stringify(counts)}`);
    const replayCommand = `DAMAGE_SEED=${SEED} npx vitest run proof/damage/flipped-bytes.test.ts`;
    expect(wrong, `again: ${replayCommand}`).toStrictEqual([]);
    // Each way out was taken.
    expect(Math.min(counts.right, counts.error, counts.refused)).toBeGreaterThan(0);
  });

  it.each([
    ['a name', (bytes: Buffer) => bytes.indexOf(LAST_PET.name), `pet ${LAST_PET.id}`],
    ['a fingerprint', (bytes: Buffer) => bytes.indexOf(fingerprintOf(0)), 'archive'],
  ])('is judged wrong if it is not noticed: %s', async (_, findOffset, what) => {
    const sound = await smallFile(`UPDATE pets SET
      checksum = -1, idempotency_checksum = iif(idempotency_key IS NULL, NULL, -1); VACUUM`);

    const verdict = await judgeFlip(sound, await newFile(), findOffset(sound), 1);

    expect(verdict).toMatchObject({ outcome: 'wrong', why: expect.stringContaining(what) });
  });
});

function fingerprintOf(index: number): Buffer {
  return Buffer.from(PETS[index]!.idempotency!.fingerprint, 'hex');
}
