import { expect, it, onTestFinished } from 'vitest';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../src/application/ports/storage-errors.ts';
import type { ServiceOptions } from '../../src/application/ports/storage-kind.ts';
import { shownUrl } from '../../src/main/command-line/command-storage.ts';
import { aKey, at } from '../support/api-keys.ts';
import { idempotencyFor } from '../support/archived-pets.ts';
import { numbers } from '../support/numbers.ts';
import { aPet } from '../support/pets.ts';
import { storageHost } from '../support/storage-host.ts';
import { type OpenFailing, type TestedStorage, type Failing, skipNote } from './storages.ts';

/**
 * Calls every method of both repositories at the same time, first the methods that write. The compiler reports a method
 * of the ports that is not called here.
 */
export async function callAll({ pets, keys }: Pick<Failing, 'pets' | 'keys'>) {
  const { id } = aKey();
  const petCalls: Calls<PetRepository> = {
    insert: pets.insert(aPet()),
    insertOnce: pets.insertOnce(aPet(), idempotencyFor('a')),
    findById: pets.findById(1n),
    list: pets.list({ limit: 10, status: 'available' }),
  };
  const keyCalls: Calls<ApiKeyRepository> = {
    insert: keys.insert(aKey()),
    revoke: keys.revoke(id, at(1)),
    expire: keys.expire(id, at(1)),
    recordUse: keys.recordUse(new Map([[id, at(1)]])),
    findById: keys.findById(id),
    list: keys.list(),
  };
  return Promise.allSettled([...Object.values(petCalls), ...Object.values(keyCalls)]);
}

type Calls<Port> = Readonly<Record<keyof Port, Promise<unknown>>>;

/** The tests that every `StorageKind` must pass. */
export function storageKindContract(storage: TestedStorage): void {
  const { kind, failures, isMetered } = storage;

  for (const [failure, open] of Object.entries(failures)) {
    const when = `when the storage ${failure}${skipNote(open)}`;
    it.skipIf(typeof open === 'string')(
      `rejects calls after a limited time, and serves later calls, ${when}`,
      async () => {
        const warnings: string[] = [];
        const service = await (open as OpenFailing)(storageHost((message) => void warnings.push(message)));
        await service.pets.insert(aPet());
        await service.keys.insert(aKey());

        await service.begin();
        const calling = callAll(service);
        service.timeOut?.();
        const outcomes = await calling;
        const reasons = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason] : [],
        );
        expect(outcomes.slice(0, 2).map(({ status }) => status)).toStrictEqual(['rejected', 'rejected']);
        for (const reason of reasons) expect(reason).toBeInstanceOf(StorageUnavailable);
        await expect.poll(() => warnings.length).toBeGreaterThanOrEqual(service.logs ? 1 : 0);

        await service.end();
        await expect
          .poll(async () => (await callAll(service)).every(({ status }) => status === 'fulfilled'))
          .toBe(true);
        expect(warnings.length).toBeGreaterThanOrEqual(service.logs ? 2 : 0);
      },
    );
  }

  async function openService(url: string, options: Partial<ServiceOptions> = {}) {
    const log = storageHost();
    const service = await kind.openService(url, { log, autoMigrate: false, ...options });
    onTestFinished(() => service.close());
    return service;
  }

  it('is shown in messages by its URL without user, password and options', () => {
    const { urlForm } = kind;
    const withSecrets = `${urlForm.replace('//', '//app:secret@')}?password=secret#secret`;
    expect(shownUrl(urlForm.includes('//') ? withSecrets : urlForm)).toBe(urlForm);
  });

  it('opens a ready service, which can be closed twice and has a limiter if services can share the storage', async () => {
    const { probe, limiter, close } = await openService((await storage.create()).url);
    expect(await probe.check()).toStrictEqual({ lastId: 0n });
    expect(limiter !== undefined).toBe(kind.shared);
    await close();
  });

  it.skipIf(isMetered !== true)(`reports every insert once to the meter${skipNote(isMetered)}`, async () => {
    const commits: number[] = [];
    const meter = {
      insertsCommitted: (inserts: number) => void commits.push(inserts),
      connection() {},
      log() {},
    };
    const { pets } = await openService((await storage.create()).url, { meter });

    await pets.insert(aPet());
    await Promise.all(numbers(30).map(() => pets.insert(aPet())));

    expect(commits.reduce((sum, inserts) => sum + inserts)).toBe(31);
  });

  const unsharedNote = skipNote(kind.shared || 'only one service can open it');
  it.skipIf(!kind.shared)(`has a limiter that all services of one storage share${unsharedNote}`, async () => {
    const { url } = await storage.create();
    const services = [await openService(url), await openService(url)];

    const taken = [];
    for (const { limiter } of services) taken.push(await limiter!.take('tom', { requests: 2, seconds: 60 }));

    expect(taken).toMatchObject([{ remaining: 1 }, { remaining: 0 }]);
  });
}
