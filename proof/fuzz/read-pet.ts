import { MAX_BODY_BYTES } from '../../src/adapters/http/contract/limits.ts';
import { isName } from '../properties/is-name.ts';
import { exactValue } from '../properties/json-arbitraries.ts';
import { type ReadRequest, valuesOf } from './read-requests.ts';

/** A pet without its id, as in the body of a create request. */
export type PetContent = { readonly name: string; readonly categoryId: bigint; readonly status: string };

const STATUSES = ['available', 'pending', 'sold'];

export type ReadPet = {
  /**
   * - `wrong`: a field breaks a rule, or the body is not an object; see `errors`.
   * - `broken`: the body did not arrive whole.
   * - `malformed`: the body is not JSON in UTF-8.
   * - `unclear`: the service may refuse the body or not, because of a huge exponent or too many brackets.
   * - `unknown coding`: the request has a `Content-Encoding`.
   */
  readonly outcome: 'right' | 'wrong' | 'broken' | 'malformed' | 'unclear' | 'too large' | 'unknown coding';
  /** The names of the wrong fields. `body` stands for a body that is not an object. */
  readonly errors: readonly string[];
  readonly pet?: PetContent;
};

/** Reads the pet in the body of a request, as the contract says. */
export function readPet(request: ReadRequest): ReadPet {
  const { body, bodyState } = request;
  const fail = (outcome: ReadPet['outcome'], ...errors: string[]): ReadPet => ({ outcome, errors });
  if (bodyState !== 'whole') return fail('broken');
  if (!/^(?:identity)?$/i.test(valuesOf(request, 'content-encoding')[0] ?? '')) return fail('unknown coding');
  if (body.length > MAX_BODY_BYTES) return fail('too large');
  let isUnclear = false;
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    // The service refuses JSON that is nested too deeply for its parser. This count is only an estimate of the depth.
    isUnclear = (text.match(/[[{]/g)?.length ?? 0) > 500;
    value = JSON.parse(text, (_key, parsed: unknown, { source = '' }) => {
      if (typeof parsed !== 'number') return parsed;
      if (/^-?\d+$/.test(source)) return BigInt(source);
      if (!/e[+-]?0*\d{4}/i.test(source)) return exactValue(source);
      isUnclear = true;
      return parsed;
    });
  } catch (error) {
    if (error instanceof RangeError) return fail('unclear');
    if (error instanceof SyntaxError || error instanceof TypeError) return fail('malformed');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail(isUnclear ? 'unclear' : 'wrong', 'body');
  }
  const { name, categoryId, status = 'available' } = value as Record<string, unknown>;
  const validity = {
    name: typeof name === 'string' && isName(name),
    categoryId: typeof categoryId === 'bigint' && isInt64(categoryId),
    status: typeof status === 'string' && STATUSES.includes(status),
  };
  const errors = Object.entries(validity).flatMap(([field, isValid]) => (isValid ? [] : [field]));
  const outcome = isUnclear ? 'unclear' : errors.length > 0 ? 'wrong' : 'right';
  return { outcome, errors, ...(errors.length === 0 && { pet: { name, categoryId, status } as PetContent }) };
}

/** Whether the value is in the range of int64. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
