import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageProbe } from '../../../src/application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { INTERNAL, OK, problem, success, UNAVAILABLE, brief } from '../../support/answer.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { KEY, startApi } from '../../support/http.ts';

const ANONYMOUS = { authorization: undefined };

const failing = (failure: Error): StorageProbe => ({ check: () => Promise.reject(failure) });

test('/livez answers 200 while the process runs, even if the storage is unavailable', async () => {
  await using api = await startApi({ probe: failing(new StorageUnavailable('away')) });
  expect(brief(await api.get('/livez', ANONYMOUS))).toStrictEqual(OK);
  expect(api.log.failures).toStrictEqual([]);
});

describe('/readyz', () => {
  test('answers 200 with a warning when few ids are left', async () => {
    await using api = await startApi({ probe: { check: async () => ({ lastId: MAX_PET_ID }) } });
    const body = '{"status":"ok","warnings":["fewer than 1000000000000 ids are left for new pets"]}';
    expect(brief(await api.get('/readyz', ANONYMOUS))).toStrictEqual(success(200, body));
  });

  test('answers 503 while the storage is unavailable, answers 200 at most one second later, and probes the storage at most once per second', async () => {
    const { advance } = fakeClock();
    let probes = 0;
    const probe: StorageProbe = {
      check: async () => {
        if (probes++ === 0) throw new StorageUnavailable('mongodb://secret@host is away');
        return { lastId: 0n };
      },
    };
    await using api = await startApi({ probe });
    for (const answer of [UNAVAILABLE, OK]) {
      for (let n = 0; n < 5; n++) expect(brief(await api.get('/readyz', ANONYMOUS))).toStrictEqual(answer);
      advance(1_000);
    }
    expect(probes).toBe(2);
  });

  test('answers 503 while the service shuts down, without a probe of the storage, and logs no failure', async () => {
    const probe = { check: () => new Promise<never>(() => {}) };
    await using api = await startApi({ isDraining: () => true, probe });
    expect(brief(await api.get('/readyz', ANONYMOUS))).toStrictEqual(
      problem(503, 'UNAVAILABLE', 'the service is shutting down', { 'retry-after': '2' }),
    );
    expect(api.log.failures).toStrictEqual([]);
  });

  test('answers 500 if the probe of the storage has a bug', async () => {
    await using api = await startApi({ probe: failing(new TypeError('x is not a function')) });
    expect(brief(await api.get('/readyz', ANONYMOUS))).toStrictEqual(INTERNAL);
  });
});

test.each(['/livez', '/readyz', '/openapi.json'])('%s needs no key and ignores a wrong key', async (path) => {
  await using api = await startApi();
  for (const authorization of [undefined, 'Bearer wrong', `Bearer ${KEY}`]) {
    expect((await api.get(path, { authorization })).status).toBe(200);
  }
});
