import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
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
  const bytes = decoded(body, valuesOf(request, 'content-encoding')[0]?.toLowerCase() ?? '');
  if (typeof bytes === 'string') return not(bytes);
  if (body.length > MAX_BODY_BYTES || bytes.length > MAX_BODY_BYTES) return not('too large');
  let isUnclear = false;
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
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

type Decode = (
  bytes: Buffer,
  options: { readonly maxOutputLength: number; readonly rejectGarbageAfterEnd: boolean },
) => Buffer;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

function decoded(body: Buffer, coding: string): Buffer | 'unknown coding' | 'too large' | 'broken' {
  if (coding === '' || coding === 'identity') return body;
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decode === undefined) return 'unknown coding';
  if (body.length > MAX_BODY_BYTES) return 'too large';
  try {
    // The members of gzip: RFC 1952, section 2.2.
    const rejectGarbageAfterEnd = !coding.endsWith('gzip');
    return decode(body, { maxOutputLength: MAX_BODY_BYTES, rejectGarbageAfterEnd });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'broken';
  }
}
