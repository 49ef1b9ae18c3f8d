import { MAX_BODY_BYTES } from '../../src/adapters/http/contract/limits.ts';
import { isName } from '../properties/is-name.ts';
import { exactValue } from '../properties/json-arbitraries.ts';
import { type ReadRequest, valuesOf } from './read-requests.ts';

export type WantedPet = { readonly name: string; readonly categoryId: bigint; readonly status: string };

const STATUSES = ['available', 'pending', 'sold'];

export type ReadPet = {
  /** `unclear`: an enormous exponent or nesting. */
  readonly is: 'right' | 'wrong' | 'broken' | 'malformed' | 'unclear' | 'too large' | 'unknown coding';
  /** The fields that are wrong. */
  readonly names: readonly string[];
  readonly pet?: WantedPet;
};

/** Reads the pet in a body, by the contract. */
export function petIn(request: ReadRequest): ReadPet {
  const { body, bodyState } = request;
  const not = (is: ReadPet['is'], ...names: readonly string[]): ReadPet => ({ is, names });
  if (bodyState !== 'whole') return not('broken');
  if (!/^(?:identity)?$/i.test(valuesOf(request, 'content-encoding')[0] ?? '')) return not('unknown coding');
  if (body.length > MAX_BODY_BYTES) return not('too large');
  let isUnclear = false;
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    // The service refuses what is nested too deeply for its parser.
    isUnclear = (text.match(/[[{]/g)?.length ?? 0) > 500;
    value = JSON.parse(text, (_key, each: unknown, { source = '' }) => {
      if (typeof each !== 'number') return each;
      if (/^-?\d+$/.test(source)) return BigInt(source);
      if (!/e[+-]?0*\d{4}/i.test(source)) return exactValue(source);
      isUnclear = true;
      return each;
    });
  } catch (error) {
    if (error instanceof RangeError) return not('unclear');
    if (error instanceof SyntaxError || error instanceof TypeError) return not('malformed');
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return not(isUnclear ? 'unclear' : 'wrong', 'body');
  }
  const { name, categoryId, status = 'available' } = value as Record<string, unknown>;
  const isRight = {
    name: typeof name === 'string' && isName(name),
    categoryId: typeof categoryId === 'bigint' && isInt64(categoryId),
    status: typeof status === 'string' && STATUSES.includes(status),
  };
  const names = Object.entries(isRight).flatMap(([field, is]) => (is ? [] : [field]));
  const is = isUnclear ? 'unclear' : names.length > 0 ? 'wrong' : 'right';
  return { is, names, ...(names.length === 0 && { pet: { name, categoryId, status } as WantedPet }) };
}

/** Whether it is in the range of int64. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}
