import { MAX_URL_BYTES } from '../../src/adapters/http/contract/limits.ts';
import { isInt64, type PetContent, type ReadPet, readPet } from './read-pet.ts';
import { type ReadRequest, valuesOf } from './read-requests.ts';

export type StoredPet = PetContent & { readonly id: bigint };

/** The part of the state of a service on which the allowed answers depend. */
export type ServiceState = {
  /** The only API key of the service. */
  readonly key: string;
};

/** The answers that the contract allows for a complete request. */
export type ExpectedAnswer = {
  /** The allowed statuses. `undefined` allows every status below 500. */
  readonly statuses: readonly number[] | undefined;
  /** The code of an error. `undefined` allows every code. */
  readonly code?: string;
  /** The wrong parameters or fields. The message of the error must contain these names. */
  readonly names?: readonly string[];
  /** The pet that the request may add. */
  readonly pet?: PetContent | undefined;
};

/** Allows an answer with one of these statuses. */
const allow = (...statuses: number[]): ExpectedAnswer => ({ statuses });
const allow400 = (code: string, ...names: string[]): ExpectedAnswer => ({ statuses: [400], code, names });

const ANY_ANSWER: ExpectedAnswer = { statuses: undefined };

/** Paths that need no API key. The large script of the documentation page (1 MB) is not listed. */
const SYSTEM_PATHS = ['/livez', '/readyz', '/openapi.json', '/docs', '/docs/docs.css', '/docs/docs.js'];

/**
 * Returns the answers that the contract allows. It uses no code of the service except limits, but it makes the checks
 * in the order of the service. The fuzzer and `document.properties.test.ts` use it.
 */
export function expectedAnswer(request: ReadRequest, state: ServiceState): ExpectedAnswer {
  const { method, target, version } = request;
  // If the contract leaves the answer open, every status below 500 is allowed, and the pet of the request may be
  // stored.
  const unclear = { ...ANY_ANSWER, pet: readPet(request).pet };
  if (request.isOdd || !target.startsWith('/')) return unclear;
  // A target has no fragment and no backslash: RFC 9112, section 3.2.
  if (/[#\\]/.test(target)) return allow400('INVALID_ARGUMENT');
  const [path = '', ...queries] = target.split('?');
  const query = new URLSearchParams(`?${queries.join('?')}`);
  const hosts = valuesOf(request, 'host');
  if (hosts.length > 1 || (hosts.length === 0 && version === '1.1')) return allow(400);
  if (!/^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(hosts[0] ?? 'none')) return allow(400);
  const authorizations = valuesOf(request, 'authorization');
  if (authorizations.length > 1) return allow(400);
  if (target.length > MAX_URL_BYTES) return allow(414);
  if (path === '/v1' || path.startsWith('/v1/')) {
    const token = /^bearer +(\S+) *$/i.exec(authorizations[0] ?? '')?.[1];
    if (token !== state.key) return allow(401);
  }
  const isRead = method === 'GET' || method === 'HEAD';
  const resource = resourceAt(path);
  if (resource === 'unclear') return unclear;
  if (resource === 'none') return allow(404);
  if (method === 'OPTIONS') return allow(204);
  if (resource === 'pets' && method === 'POST') return expectedCreate(request, query);
  if (!isRead) return allow(405);
  if (resource === 'pets') return expectedPage(query);
  if (resource === 'system') return allow(200);
  if (resource === 'root') return allow(200, 302);
  return expectedPet(resource.petId, query);
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

function expectedPet(petId: string, query: URLSearchParams): ExpectedAnswer {
  if (query.size > 0) return allow400('INVALID_ARGUMENT', ...query.keys());
  const isId = /^(?:0|-?[1-9]\d{0,18})$/.test(petId) && isInt64(BigInt(petId));
  return isId ? allow(200, 404) : allow400('INVALID_ARGUMENT', 'petId');
}

const PAGE_RULES: Readonly<Record<string, RegExp>> = {
  limit: /^(?:[1-9]\d?|100)$/,
  status: /^(?:available|pending|sold)$/,
  cursor: /^v1\.[0-9a-f]{16}$/,
};

function expectedPage(query: URLSearchParams): ExpectedAnswer {
  const wrongNames = [...query]
    .filter(([name, value]) => {
      const isRight = Object.hasOwn(PAGE_RULES, name) && PAGE_RULES[name]?.test(value) === true;
      return !isRight || query.getAll(name).length > 1;
    })
    .map(([name]) => name);
  if (wrongNames.length > 0) {
    const isCursor = wrongNames.every((name) => name === 'cursor');
    return allow400(isCursor ? 'INVALID_CURSOR' : 'INVALID_ARGUMENT', ...wrongNames);
  }
  return allow(200);
}

/** The id in the cursor. A page begins after this id. */
export function cursorId(cursor: string | null): bigint {
  return cursor === null ? -(2n ** 63n) : BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`));
}

function expectedCreate(request: ReadRequest, query: URLSearchParams): ExpectedAnswer {
  const [type = '', ...moreTypes] = valuesOf(request, 'content-type');
  const body = readPet(request);
  if (moreTypes.length > 0 || valuesOf(request, 'content-encoding').length > 1) {
    return { ...ANY_ANSWER, pet: body.pet };
  }
  if (!/^application\/json[ \t]*(?:;|$)/i.test(type)) return allow(415);
  const isPlainType = /^application\/json(?:; ?charset=utf-8)?$/i.test(type);
  const expected = expectedOfBody(body, query, valuesOf(request, 'idempotency-key'));
  return isPlainType ? expected : { pet: expected.pet, statuses: [415, ...(expected.statuses ?? [])] };
}

function expectedOfBody(body: ReadPet, query: URLSearchParams, keys: readonly string[]): ExpectedAnswer {
  if (body.outcome === 'unknown coding') return allow(415);
  if (query.size > 0) return allow400('INVALID_ARGUMENT', ...query.keys());
  const unquotedKey = /^"((?:[ !#-[\]-~]|\\["\\])+)"$/.exec(keys[0] ?? '')?.[1]?.replaceAll(/\\(.)/g, '$1');
  const key = unquotedKey ?? (/^[!#-~]+$/.test(keys[0] ?? '') ? (keys[0] ?? '') : '');
  if (keys.length > 1) return { statuses: [201, 400, 413, 422], pet: body.pet };
  // The service checks this header before it reads the body.
  if (keys.length > 0 && (key === '' || key.length > 255)) return allow400('INVALID_IDEMPOTENCY_KEY');
  if (body.outcome === 'too large') return allow(413);
  if (body.outcome === 'broken') return allow(400);
  if (body.outcome === 'malformed') return allow400('MALFORMED_JSON');
  if (body.outcome === 'wrong') return allow400('INVALID_ARGUMENT', ...body.errors);
  const unclearStatuses = body.outcome === 'unclear' ? [400] : [];
  // A key may belong to a pet that was added before: the answer is that pet, or 422 if the request differs.
  const statuses = keys.length === 0 ? [201] : [201, 422];
  return { statuses: [...statuses, ...unclearStatuses], pet: body.pet };
}
