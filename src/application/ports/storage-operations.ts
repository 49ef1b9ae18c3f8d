import type { ServicePorts } from './storage-kind.ts';

/** The names of the methods in metrics and traces. Only named methods are measured; a missing name does not compile. */
export const STORAGE_OPERATIONS = {
  pets: { insert: 'insert_pet', insertOnce: 'insert_pet_once', findById: 'find_pet', list: 'list_pets' },
  keys: {
    insert: 'insert_key',
    findById: 'find_key',
    list: 'list_keys',
    revoke: 'revoke_key',
    expire: 'expire_key',
    recordUse: 'record_key_uses',
  },
  limiter: { take: 'count_request' },
  probe: { check: 'check' },
} as const satisfies {
  readonly [P in keyof ServicePorts]-?: { readonly [M in keyof Required<ServicePorts>[P]]: string };
};
