import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { newPath } from '../../test/support/sqlite.ts';
import { testDirectory } from '../../test/support/test-directory.ts';
import { judgeFlip, PETS, type Verdict, writeSmallFile } from './flipped-byte.ts';

/** Whether to change every byte of the file, as `npm run test:damage` does. Each byte is changed with all `MASKS`. */
const isComplete = process.env['DAMAGE_BYTES'] === 'all';
const SEED = Number(process.env['DAMAGE_SEED'] ?? 15);
/** Each bit of a byte alone, and then all 8 bits together. A bit that is 1 in the mask is changed in the byte. */
const MASKS = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/** If not every byte is changed, the test changes one random byte in each 48 bytes of the file. */
const STRIDE = 48;

const LAST_PET = PETS.at(-1)!;

const TWO_HOURS = { timeout: 2 * 3_600_000 } as const;

/** Yields the changes to try in a file of this length in bytes: the position of a byte, and a mask as in `MASKS`. */
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

/** Writes a small database, runs the SQL on it, and returns the bytes of its file. */
async function createFileBytes(sql = ''): Promise<Buffer> {
  const file = await newPath();
  await writeSmallFile(file);
  {
    using db = new DatabaseSync(file);
    db.exec(sql);
  }
  return readFile(file);
}

describe('a SQLite file with a changed byte', () => {
  it('leads to a refused start, or only to right answers and expected errors', TWO_HOURS, async () => {
    const intactBytes = await createFileBytes();
    const directory = await testDirectory();
    const counts: Record<Verdict['outcome'], number> = { right: 0, error: 0, refused: 0, wrong: 0 };
    const wrongCases: string[] = [];
    for (const [offset, mask] of flipsOf(intactBytes.length)) {
      const folder = join(directory, `${offset}-${mask}`);
      await mkdir(folder);
      const { outcome, reason } = await judgeFlip(intactBytes, join(folder, 'petstore.db'), offset, mask);
      await rm(folder, { recursive: true });
      counts[outcome]++;
      if (outcome === 'wrong') wrongCases.push(`byte ${offset} ^ ${mask}: ${reason}`);
    }
    if (isComplete) console.log(`${intactBytes.length} bytes, ${JSON.stringify(counts)}`);
    const replayCommand = `DAMAGE_SEED=${SEED} npx vitest run proof/damage/flipped-bytes.test.ts`;
    expect(wrongCases, `to repeat: ${replayCommand}`).toStrictEqual([]);
    // Each of the three accepted outcomes occurred.
    expect(Math.min(counts.right, counts.error, counts.refused)).toBeGreaterThan(0);
  });

  // This proves that the test above would find an unnoticed change.
  it.each([
    ['name', (bytes: Buffer) => bytes.indexOf(LAST_PET.name), `pet ${LAST_PET.id}`],
    ['fingerprint', (bytes: Buffer) => bytes.indexOf(fingerprintOf(0)), 'archive'],
  ])('is judged wrong when no checksum protects the changed %s', async (_, findOffset, damagedRead) => {
    const intactBytes = await createFileBytes(`UPDATE pets SET -- -1 switches the checksum off
      checksum = -1, idempotency_checksum = iif(idempotency_key IS NULL, NULL, -1); VACUUM`);

    const verdict = await judgeFlip(intactBytes, await newPath(), findOffset(intactBytes), 1);

    expect(verdict).toMatchObject({ outcome: 'wrong', reason: expect.stringContaining(damagedRead) });
  });
});

function fingerprintOf(index: number): Buffer {
  return Buffer.from(PETS[index]!.idempotency!.fingerprint, 'hex');
}
