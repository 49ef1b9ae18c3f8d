import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { MAX_BODY_BYTES, MAX_URL_BYTES } from '../../src/adapters/http/wire/limits.ts';
import type { ReadRequest } from './read-requests.ts';

/** The one API key of the service that is fuzzed. */
export const FUZZ_KEY = 'the-key-of-the-fuzzer';

export type WantedPet = { readonly name: string; readonly categoryId: bigint; readonly status: string };

/** What a whole request may be answered. */
export type Expected = {
  /** `undefined`: anything that does not blame the service. */
  readonly statuses: readonly number[] | undefined;
  /** The pet that it may add. */
  readonly pet?: WantedPet | undefined;
};

const only = (...statuses: number[]): Expected => ({ statuses });

const ANYTHING: Expected = { statuses: undefined };

/** The paths that need no key. The script of the page is left out: it has a megabyte. */
const SYSTEM_PATHS = ['/livez', '/readyz', '/openapi.json', '/docs', '/docs/docs.css', '/docs/docs.js'];

/**
 * Derives the answer from the contract, independently of the service: the checks in their order. It leaves open what
 * depends on the state of the catalogue.
 */
export function expectedAnswer(request: ReadRequest): Expected {
  const { method, target, headers, version } = request;
  const valuesOf = (name: string) => headers.filter(([each]) => each === name).map(([, value]) => value);
  // Its pet counts as asked for, however it is answered.
  const unclear = { ...ANYTHING, pet: petIn(request, valuesOf('content-encoding')).pet };
  if (request.isOdd || !target.startsWith('/')) return unclear;
  // A target has no fragment and no backslash: RFC 9112, section 3.2.
  if (/[#\\]/.test(target)) return only(400);
  const [path = '', ...queries] = target.split('?');
  const query = new URLSearchParams(`?${queries.join('?')}`);
  const hosts = valuesOf('host');
  if (hosts.length > 1 || (hosts.length === 0 && version === '1.1')) return only(400);
  if (!/^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(hosts[0] ?? 'none')) return only(400);
  const authorizations = valuesOf('authorization');
  if (authorizations.length > 1) return only(400);
  if (target.length > MAX_URL_BYTES) return only(414);
  if (path === '/v1' || path.startsWith('/v1/')) {
    const token = /^bearer +(\S+) *$/i.exec(authorizations[0] ?? '')?.[1];
    if (token !== FUZZ_KEY) return only(401);
  }
  const isRead = method === 'GET' || method === 'HEAD';
  const resource = resourceAt(path);
  if (resource === 'unclear') return unclear;
  if (resource === 'none') return only(404);
  if (method === 'OPTIONS') return only(204);
  if (resource === 'pets' && method === 'POST') return expectedCreate(request, query.size > 0);
  if (!isRead) return only(405);
  if (resource === 'pets') return only(isPageQuery(query) ? 200 : 400);
  if (resource === 'system') return only(200);
  if (resource === 'root') return only(200, 302);
  return query.size > 0 || !isPetId(resource.petId) ? only(400) : only(200, 404);
}

type Resource = 'none' | 'unclear' | 'pets' | 'system' | 'root' | { readonly petId: string };

function resourceAt(path: string): Resource {
  if (path === '/') return 'root';
  if (SYSTEM_PATHS.includes(path)) return 'system';
  if (path.startsWith('/docs/')) return 'unclear';
  if (path === '/v1/pets') return 'pets';
  const petId = /^\/v1\/pets\/([^/]+)$/.exec(path)?.[1];
  return petId === undefined
    ? 'none'
    : { petId: decodeURIComponent(petId.replaceAll(/%(?![\da-f]{2})|%[89a-f]./gi, '?')) };
}

function isPetId(text: string): boolean {
  return /^(?:0|-?[1-9]\d{0,18})$/.test(text) && isInt64(BigInt(text));
}

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

const STATUSES = ['available', 'pending', 'sold'];

function isPageQuery(query: URLSearchParams): boolean {
  const rules: Readonly<Record<string, RegExp>> = {
    limit: /^(?:[1-9]\d?|100)$/,
    status: /^(?:available|pending|sold)$/,
    cursor: /^v1\.[0-9a-f]{16}$/,
  };
  const names = [...query.keys()];
  return (
    new Set(names).size === names.length &&
    [...query].every(([name, value]) => Object.hasOwn(rules, name) && rules[name]?.test(value))
  );
}

function expectedCreate(request: ReadRequest, hasQuery: boolean): Expected {
  const valuesOf = (name: string) =>
    request.headers.filter(([each]) => each === name).map(([, value]) => value);
  const [type = '', ...moreTypes] = valuesOf('content-type');
  const codings = valuesOf('content-encoding');
  const read = petIn(request, codings);
  const anything = { ...ANYTHING, pet: read.pet };
  if (moreTypes.length > 0 || codings.length > 1) return anything;
  if (!/^application\/json[ \t]*(?:;|$)/i.test(type)) return only(415);
  const isPlainType = /^application\/json(?:; ?charset=utf-8)?$/i.test(type);
  const later = expectedOfBody(read, hasQuery, valuesOf('idempotency-key'));
  return isPlainType ? later : { ...later, statuses: [415, ...(later.statuses ?? [])] };
}

function expectedOfBody(read: ReadPet, hasQuery: boolean, keys: readonly string[]): Expected {
  if (read.is === 'unknown coding') return only(415);
  if (hasQuery) return only(400);
  if (read.is === 'too large') return only(413);
  if (read.is === 'wrong') return only(400);
  const perhaps = read.is === 'unclear' ? [400] : [];
  const { pet } = read;
  if (keys.length === 0) return { statuses: [201, ...perhaps], pet };
  if (keys.length > 1) return { statuses: [201, 400, 422], pet };
  const inner = /^"((?:[ !#-[\]-~]|\\["\\])+)"$/.exec(keys[0] ?? '')?.[1]?.replaceAll(/\\(.)/g, '$1');
  const key = inner ?? (/^[!#-~]+$/.test(keys[0] ?? '') ? (keys[0] ?? '') : '');
  return key === '' || key.length > 255 ? only(400) : { statuses: [201, 422, ...perhaps], pet };
}

type ReadPet = {
  readonly is: 'right' | 'wrong' | 'unclear' | 'too large' | 'unknown coding';
  readonly pet?: WantedPet;
};

/** Reads the pet in a body. `unclear`: an unusual number or nesting. */
function petIn({ body, bodyState }: ReadRequest, codings: readonly string[]): ReadPet {
  if (bodyState !== 'whole') return { is: 'wrong' };
  const coding = codings[0]?.toLowerCase() ?? '';
  const bytes = decoded(body, coding);
  if (typeof bytes === 'string') return { is: bytes };
  if (body.length > MAX_BODY_BYTES || bytes.length > MAX_BODY_BYTES) return { is: 'too large' };
  let isUnclear = false;
  let value: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // The service refuses what is nested too deeply for its parser.
    isUnclear = (text.match(/[[{]/g)?.length ?? 0) > 500;
    value = JSON.parse(text, (_key, each: unknown, { source = '' }) => {
      if (typeof each !== 'number') return each;
      if (/^-?\d+$/.test(source)) return BigInt(source);
      isUnclear ||= true;
      return Number.isSafeInteger(each) ? BigInt(each) : each;
    });
  } catch (error) {
    if (error instanceof RangeError) return { is: 'unclear' };
    if (error instanceof SyntaxError || error instanceof TypeError) return { is: 'wrong' };
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { is: 'wrong' };
  const { name, categoryId, status = 'available' } = value as Record<string, unknown>;
  const isRight =
    typeof name === 'string' &&
    isName(name) &&
    typeof categoryId === 'bigint' &&
    isInt64(categoryId) &&
    typeof status === 'string' &&
    STATUSES.includes(status);
  if (!isRight) return { is: isUnclear ? 'unclear' : 'wrong' };
  return { is: isUnclear ? 'unclear' : 'right', pet: { name, categoryId, status } };
}

function isName(name: string): boolean {
  const characters = Array.from(name);
  const { length } = characters;
  const hasControl = characters.some((each) => each < ' ' || each === '\x7f');
  return length >= 1 && length <= 255 && name.isWellFormed() && !hasControl && name.trim() !== '';
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

function decoded(body: Buffer, coding: string): Buffer | Exclude<ReadPet['is'], 'right'> {
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
    return code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : 'wrong';
  }
}
