/**
 * What a key costs on a warm request: the check of a key that is remembered, and, for comparison, of one that is not
 * and has to be looked up in a SQLite file, and of one whose checksum is wrong. Rounds take turns.
 *
 *   node bench/key-check.ts [ROUNDS]       9 by default, about half a second each
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { StoredTokenVerifier } from '../src/adapters/tokens/stored-token-verifier.ts';
import { keyMint, mintKey } from '../src/adapters/tokens/token.ts';
import { CreateKey } from '../src/application/keys/create-key.ts';
import type { ApiKeyRepository } from '../src/application/ports/api-key-repository.ts';

const ROUNDS = Number(process.argv[2] ?? 9);
const WARM_CHECKS = 100_000;
const COLD_CHECKS = 10_000;

const now = () => new Date();

/** The storage that is looked into, which counts how often it is. */
class CountedKeys implements Pick<ApiKeyRepository, 'findById' | 'recordUse'> {
  readonly #keys: ApiKeyRepository;
  looks = 0;

  constructor(keys: ApiKeyRepository) {
    this.#keys = keys;
  }

  findById(id: string): ReturnType<ApiKeyRepository['findById']> {
    this.looks++;
    return this.#keys.findById(id);
  }

  recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    return this.#keys.recordUse(uses);
  }
}

/** Microseconds a check, one after the other. */
async function microseconds(checks: number, check: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < checks; i++) await check(i);
  return ((performance.now() - start) * 1000) / checks;
}

function summary(figures: number[]): string {
  figures.sort((a, b) => a - b);
  const [least, median, most] = [0, 0.5, 1].map((q) =>
    figures[Math.round((figures.length - 1) * q)]?.toFixed(2),
  );
  return `${median} us (${least} to ${most})`;
}

const directory = await mkdtemp(join(tmpdir(), 'petstore-bench-'));
const { keys, close } = await openSqliteStorage(join(directory, 'petstore.db'), { warn: console.warn });
try {
  const counted = new CountedKeys(keys);
  const verifier = new StoredTokenVerifier(counted, now);
  const { token } = await new CreateKey(keys, keyMint, now).execute({
    label: 'bench',
    scopes: ['pets:read'],
  });
  const unknown = Array.from({ length: COLD_CHECKS }, () => mintKey().token);
  const broken = unknown.map((one) => `${one.slice(0, -1)}${one.endsWith('0') ? '1' : '0'}`);

  const figures = { remembered: [] as number[], unknown: [] as number[], broken: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    await verifier.verify(token);
    counted.looks = 0;
    // A turn of the event loop lasts until the round is over: nothing is forgotten in between but by the clock.
    figures.remembered.push(await microseconds(WARM_CHECKS, () => verifier.verify(token)));
    if (counted.looks > 0) throw new Error(`the storage was looked into ${counted.looks} times`);
    figures.unknown.push(await microseconds(COLD_CHECKS, (i) => verifier.verify(unknown[i]!)));
    figures.broken.push(await microseconds(COLD_CHECKS, (i) => verifier.verify(broken[i]!)));
  }
  console.log(`a key that is remembered, the storage untouched: ${summary(figures.remembered)}`);
  console.log(`an unknown key of the right form, looked up in SQLite: ${summary(figures.unknown)}`);
  console.log(`a key with a wrong checksum: ${summary(figures.broken)}`);
} finally {
  await close();
  await rm(directory, { recursive: true });
}
