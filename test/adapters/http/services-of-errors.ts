import type { ErrorCode } from '../../../src/adapters/http/contract/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { keyWith, type startApi } from '../../support/http.ts';
import { FailingPetRepository } from '../../support/pets.ts';

/** For each error code, the options of a service that answers requests with this error. */
export const SERVICES = {
  PERMISSION_DENIED: { tokens: keyWith({ scopes: [] }) },
  REQUEST_TIMEOUT: { limits: { headersTimeoutMs: 50, requestTimeoutMs: 50 } },
  GONE: { now: () => new Date('2030-12-05T00:00:00Z') },
  RATE_LIMITED: {
    rateLimit: { requests: 600, seconds: 60 },
    limiter: { take: async () => ({ allowed: false, remaining: 0, resetSeconds: 30 }) },
  },
  INTERNAL: { pets: new FailingPetRepository(new Error('a bug')) },
  UNAVAILABLE: { pets: new FailingPetRepository(new StorageUnavailable('no answer')) },
} as const satisfies Partial<Record<ErrorCode, Parameters<typeof startApi>[0]>>;
