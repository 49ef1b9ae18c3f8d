import { API_KEY_ID, type ApiKey, apiKeyProblems, storedApiKey } from '../../domain/api-key.ts';
import { DamagedApiKey } from './errors.ts';

/**
 * The key that a stored record holds, or the error that names the first rule that the record breaks.
 *
 * @param fields as they are stored: any of them may be missing or have any value
 */
export function parseStoredApiKey(fields: Partial<Record<keyof ApiKey, unknown>>): ApiKey | DamagedApiKey {
  const [problem] = apiKeyProblems(fields);
  if (problem === undefined) return storedApiKey(fields as ApiKey);
  const { id } = fields;
  // A damaged id can be anything, so messages never repeat it.
  const hasId = typeof id === 'string' && API_KEY_ID.test(id);
  return new DamagedApiKey(hasId ? id : 'with an unreadable id', problem);
}

/** @throws {DamagedApiKey} */
export function throwIfDamaged(key: ApiKey | DamagedApiKey): ApiKey {
  if (key instanceof DamagedApiKey) throw key;
  return key;
}
