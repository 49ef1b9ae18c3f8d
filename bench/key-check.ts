/**
 * The cost of checking three API keys: a cached one, an unknown one, which is looked up in a SQLite file, and one with
 * a wrong checksum. Rounds alternate.
 *
 *   node bench/key-check.ts [ROUNDS]       9 by default, about half a second each
 */
import { join } from 'node:path';
import { openSqliteStorage } from '../src/adapters/sqlite/open.ts';
import { StoredTokenVerifier } from '../src/application/keys/token-verifiers.ts';
import { mintKey, tokenForm } from '../src/adapters/tokens/token.ts';
import { CreateKey } from '../src/application/keys/create-key.ts';
import type { ApiKeyRepository } from '../src/application/ports/api-key-repository.ts';
import { temporaryDirectory } from '../test/support/temporary-directory.ts';
import { storageHost } from '../test/support/storage-host.ts';
import { summary } from './support/statistics.ts';

const ROUNDS = Number(process.argv[2] ?? 9);
const CACHED_CHECKS = 100_000;
const LOOKUP_CHECKS = 10_000;

const now = () => new Date();

/** Counts the lookups in a repository. */
class CountedKeys implements Pick<ApiKeyRepository, 'findById' | 'recordUse'> {
  readonly #keys: ApiKeyRepository;
  lookups = 0;

  constructor(keys: ApiKeyRepository) {
    this.#keys = keys;
  }

  findById(id: string): ReturnType<ApiKeyRepository['findById']> {
    this.lookups++;
    return this.#keys.findById(id);
  }

  recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    return this.#keys.recordUse(uses);
  }
}

/** Microseconds for one check, in sequence. */
async function microseconds(checks: number, check: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let i = 0; i < checks; i++) await check(i);
  return ((performance.now() - start) * 1000) / checks;
}

await using directory = await temporaryDirectory('bench');
const { keys, close } = await openSqliteStorage(
  join(directory.path, 'petstore.db'),
  storageHost(console.warn),
);
try {
  const counted = new CountedKeys(keys);
  const verifier = new StoredTokenVerifier(counted, tokenForm, now);
  const { token } = await new CreateKey(keys, mintKey, now).execute({
    label: 'bench',
    scopes: ['pets:read'],
  });
  const unknown = Array.from({ length: LOOKUP_CHECKS }, () => mintKey().token);
  const broken = unknown.map((one) => `${one.slice(0, -1)}${one.endsWith('0') ? '1' : '0'}`);

  const us = { cached: [] as number[], unknown: [] as number[], broken: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    await verifier.verify(token);
    counted.lookups = 0;
    // A round blocks the event loop: no timer can clear the cache.
    us.cached.push(await microseconds(CACHED_CHECKS, () => verifier.verify(token)));
    if (counted.lookups > 0) throw new Error(`the storage had ${counted.lookups} lookups of a cached key`);
    us.unknown.push(await microseconds(LOOKUP_CHECKS, (i) => verifier.verify(unknown[i]!)));
    us.broken.push(await microseconds(LOOKUP_CHECKS, (i) => verifier.verify(broken[i]!)));
  }
  console.log('Microseconds for a check: median (least to most)');
  console.log(`a cached key: ${summary(us.cached, 2)}`);
  console.log(`an unknown key, looked up in SQLite: ${summary(us.unknown, 2)}`);
  console.log(`a key with a wrong checksum: ${summary(us.broken, 2)}`);
} finally {
  await close();
}
