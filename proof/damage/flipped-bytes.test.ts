import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { newPath } from '../../test/support/sqlite.ts';
import { testDirectory } from '../../test/support/test-directory.ts';
import { judgeFlip, PETS, type Verdict, writeSmallFile } from './flipped-byte.ts';

/** `npm run test:damage` changes every byte: first each bit of the byte alone, and then all 8 bits together. */
const isComplete = process.env['DAMAGE_BYTES'] === 'all';
const SEED = Number(process.env['DAMAGE_SEED'] ?? 15);
/** The bits of a byte that one case changes. */
const MASKS = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/** The short form changes one byte in each part of the file with this many bytes. */
const STRIDE = 48;

const LAST_PET = PETS.at(-1)!;

const TWO_HOURS = { timeout: 2 * 3_600_000 } as const;

/** The changes to try. Each is the position of a byte, and the bits of the byte that change. */
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

async function readSmallFile(sql = ''): Promise<Buffer> {
  const file = await newPath();
  await writeSmallFile(file);
  {
    using db = new DatabaseSync(file);
    db.exec(sql);
  }
  return readFile(file);
}

describe('a SQLite file with a changed byte', () => {
  it('is refused at the start, or gives right answers and expected errors', TWO_HOURS, async () => {
    const soundBytes = await readSmallFile();
    const directory = await testDirectory();
    const counts: Record<Verdict['outcome'], number> = { right: 0, error: 0, refused: 0, wrong: 0 };
    const wrongCases: string[] = [];
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
      if (outcome === 'wrong') wrongCases.push(`byte ${offset} ^ ${mask}: ${reason}`);
    }
    if (isComplete) console.log(`${soundBytes.length} bytes, ${JSON.stringify(counts)}`);
    const replayCommand = `DAMAGE_SEED=${SEED} npx vitest run proof/damage/flipped-bytes.test.ts`;
    expect(wrongCases, `to repeat: ${replayCommand}`).toStrictEqual([]);
    // Each of the three accepted outcomes occurred.
    expect(Math.min(counts.right, counts.error, counts.refused)).toBeGreaterThan(0);
  });

  it.each([
    ['name', (bytes: Buffer) => bytes.indexOf(LAST_PET.name), `pet ${LAST_PET.id}`],
    ['fingerprint', (bytes: Buffer) => bytes.indexOf(fingerprintOf(0)), 'archive'],
  ])(
    'is judged wrong when the byte is in the %s of a pet whose checksum is switched off',
    async (_, findOffset, damagedRead) => {
      const soundBytes = await readSmallFile(`UPDATE pets SET -- a checksum of -1 fits every row
      checksum = -1, idempotency_checksum = iif(idempotency_key IS NULL, NULL, -1); VACUUM`);

      const verdict = await judgeFlip(soundBytes, await newPath(), findOffset(soundBytes), 1);

      expect(verdict).toMatchObject({ outcome: 'wrong', reason: expect.stringContaining(damagedRead) });
    },
  );
});

function fingerprintOf(index: number): Buffer {
  return Buffer.from(PETS[index]!.idempotency!.fingerprint, 'hex');
}
