import { SqliteApiKeyRepository } from '../../src/adapters/sqlite/api-key-repository.ts';
import { transaction } from '../../src/adapters/sqlite/connection.ts';
import type { GuardedWrite } from '../../src/adapters/sqlite/file-guard.ts';
import { FaultyDatabase } from './faulty-database.ts';
import { KeyCallers } from './key-callers.ts';
import type { Scenario } from './run-schedule.ts';

/** How long a write waits for the lock. An attempt may begin just before the end of it, after a pause of 5 ms. */
const LIMIT_MS = 5_000;
const LAST_ATTEMPT_MS = 10;

/** How long a verifier trusts a key. */
const TRUSTED_MS = 5_000;

/** Writes that wait for the lock of another connection, and the cache of valid keys. */
export const keysOnSqlite: Scenario = {
  name: 'keys-on-sqlite',
  flaws: ['loses-commits', 'no-deadline'],
  begin(simulation, flaw) {
    const database = new FaultyDatabase(simulation, flaw);
    const unguarded: GuardedWrite = (write) => transaction(database.connection, write);
    const timeoutMs = flaw === 'no-deadline' ? 100 * LIMIT_MS : LIMIT_MS;
    const keys = new SqliteApiKeyRepository(database.connection, unguarded, timeoutMs);
    const callers = new KeyCallers(simulation, {
      repositories: [keys],
      limitMs: LIMIT_MS + LAST_ATTEMPT_MS,
      acceptedMs: () => TRUSTED_MS,
      stored: () => storedIn(database),
    });
    database.startLocks(25_000);
    void callers.start();
    return () => {
      callers.verify();
      database.real.close();
    };
  },
};

function storedIn({ real }: FaultyDatabase) {
  const rows = real.prepare('SELECT id, revoked_at, last_used_at FROM api_keys').all();
  return rows.map(({ id, revoked_at: revokedAt, last_used_at: lastUsedAt }) => ({
    id: String(id),
    ...(revokedAt !== null && { revokedAt: new Date(Number(revokedAt)) }),
    ...(lastUsedAt !== null && { lastUsedAt: new Date(Number(lastUsedAt)) }),
  }));
}
