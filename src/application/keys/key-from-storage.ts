import { API_KEY_ID, type ApiKey, storedApiKey, storedApiKeyProblem } from '../../domain/api-key.ts';
import { DamagedApiKey } from './errors.ts';

/** The API key that a storage holds, or what is wrong with it. */
export function keyFromStorage(
  fields: Readonly<Partial<Record<keyof ApiKey, unknown>>>,
): ApiKey | DamagedApiKey {
  const problem = storedApiKeyProblem(fields);
  if (problem === undefined) return storedApiKey(fields as ApiKey);
  const { id } = fields;
  // What is no id may be anything, and is not repeated.
  return new DamagedApiKey(
    typeof id === 'string' && API_KEY_ID.test(id) ? id : 'with an unreadable id',
    problem,
  );
}

/** @throws {DamagedApiKey} */
export function undamaged(key: ApiKey | DamagedApiKey): ApiKey {
  if (key instanceof DamagedApiKey) throw key;
  return key;
}
