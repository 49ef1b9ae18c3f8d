import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT, SERVICE } from '../../test/support/process.ts';
import { REVOKED_WITHIN_MS } from './check-keys.ts';
import type { History } from './history.ts';
import type { Load } from './load.ts';

const run = promisify(execFile);

/** The answer of `petstore keys create --json`. `key` is the token. */
export type CreatedKey = { readonly id: string; readonly key: string };

/** The time between the creation and the revocation of a key. */
const KEY_VALID_MS = 1_000;

/** The clients use the last 8 keys. Most of these keys were revoked too long ago to be accepted. */
const KEYS_IN_USE = 8;

/** Returns a function that runs the command `keys` on this database with further arguments. */
export function keysCommand(databaseUrl: string, options: { readonly signal?: AbortSignal } = {}) {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], DATABASE_URL: databaseUrl };
  return (...args: readonly string[]) =>
    run(process.execPath, [...SERVICE, 'keys', ...args], { cwd: ROOT, env, ...options });
}

/**
 * Creates one API key after the other as an operator does, gives it to the clients, and revokes it. After a failed
 * creation it creates another key. A failed revocation is repeated for the same key. Resolves when `signal` aborts.
 */
export async function turnOverKeys(load: Load, databaseUrl: string, signal: AbortSignal): Promise<void> {
  const { calls } = load.history;
  const runKeys = keysCommand(databaseUrl, { signal });
  const revoke = async (apiKey: string) => {
    const beginMs = performance.now();
    const revokeOutput = await runKeys('revoke', apiKey).catch(() => undefined);
    const outcome = revokeOutput === undefined ? 'unknown' : 'acknowledged';
    calls.push({ type: 'key revoked', apiKey, beginMs, endMs: performance.now(), outcome });
    return outcome === 'acknowledged';
  };
  while (!signal.aborted) {
    const beginMs = performance.now();
    // If the creation fails, the token of the key is unknown, so no client can use the key.
    const createOutput = await runKeys('create', '--label', 'failure', '--expires', 'never', '--json').catch(
      () => undefined,
    );
    if (createOutput === undefined) continue;
    const { id, key: token } = JSON.parse(createOutput.stdout) as CreatedKey;
    const endMs = performance.now();
    calls.push({ type: 'key created', apiKey: id, beginMs, endMs, outcome: 'acknowledged' });
    load.apiKeys.push({ id, token });
    if (load.apiKeys.length > KEYS_IN_USE) load.apiKeys.shift();
    await sleep(KEY_VALID_MS, undefined, { signal }).catch(() => undefined);
    let isRevoked = false;
    while (!signal.aborted && !isRevoked) isRevoked = await revoke(id);
  }
}

/** Counts the revoked keys, and the requests that used a revoked key so late that every service had to refuse it. */
export function countRevocations({ calls }: History) {
  const revokedAtMs = new Map<string, number>();
  for (const call of calls) if (call.type === 'key revoked') revokedAtMs.set(call.apiKey, call.endMs);
  const requestsWithRevokedKey = calls.filter((call) => {
    if (!('status' in call) || call.apiKey === undefined) return false;
    return call.beginMs > (revokedAtMs.get(call.apiKey) ?? Infinity) + REVOKED_WITHIN_MS;
  });
  return { revokedKeys: revokedAtMs.size, lateRequests: requestsWithRevokedKey.length };
}
