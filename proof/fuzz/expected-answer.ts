import { MAX_URL_BYTES } from '../../src/adapters/http/contract/limits.ts';
import { isInt64, type PetContent, type ReadPet, readPet } from './read-pet.ts';
import { type ReadRequest, valuesOf } from './read-requests.ts';

export type StoredPet = PetContent & { readonly id: bigint };

/** The part of the state of a service on which its answers depend. */
export type ServiceState = {
  /** The only API key of the service. */
  readonly key: string;
  /** The stored pets, in the order of their ids. If absent, all answers that depend on them are allowed. */
  readonly pets?: readonly StoredPet[];
  /** The pet that was added with each Idempotency-Key. */
  readonly petsByKey?: ReadonlyMap<string, StoredPet>;
};

/** The answers that the contract allows for a complete request. */
export type ExpectedAnswer = {
  /** The allowed statuses. `undefined` allows every status below 500. */
  readonly statuses: readonly number[] | undefined;
  /** The code of an error. `undefined` allows every code. */
  readonly code?: string;
  /** The wrong parameters or fields. The message of the error must contain these names. */
  readonly names?: readonly string[];
  /** The body of a success. */
  readonly body?: string;
  /** The headers of a success that depend on the request. A header with the value `undefined` must be absent. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The pet that the request may add. */
  readonly pet?: PetContent | undefined;
  /** The Idempotency-Key of the request, without quotes. */
  readonly key?: string | undefined;
};

/** Allows an answer with one of these statuses. */
const allow = (...statuses: number[]): ExpectedAnswer => ({ statuses });
const allow400 = (code: string, ...names: string[]): ExpectedAnswer => ({ statuses: [400], code, names });

const ANY_ANSWER: ExpectedAnswer = { statuses: undefined };

/** Paths that need no API key. The large script of the documentation page (1 MB) is not listed. */
const SYSTEM_PATHS = ['/livez', '/readyz', '/openapi.json', '/docs', '/docs/docs.css', '/docs/docs.js'];

/**
 * Returns the answers that the contract allows. It uses no code of the service except limits, but it makes the checks in
 * the order of the service. The fuzzer and `document.properties.test.ts` use it.
 */
export function expectedAnswer(request: ReadRequest, state: ServiceState): ExpectedAnswer {
  const { method, target, version } = request;
  // If the contract leaves the answer open, every status below 500 is allowed, and the pet of the request may be stored.
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
  if (resource === 'pets' && method === 'POST') return expectedCreate(request, query, state);
  if (!isRead) return allow(405);
  if (resource === 'pets') return expectedPage(query, hosts[0] ?? '', state);
  if (resource === 'system') return allow(200);
  if (resource === 'root') return allow(200, 302);
  return expectedPet(resource.petId, query, state);
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

/** The JSON of a pet. */
function jsonOf({ id, name, categoryId, status }: StoredPet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

function expectedPet(petId: string, query: URLSearchParams, { pets }: ServiceState): ExpectedAnswer {
  if (query.size > 0) return allow400('INVALID_ARGUMENT', ...query.keys());
  const isId = /^(?:0|-?[1-9]\d{0,18})$/.test(petId) && isInt64(BigInt(petId));
  if (!isId) return allow400('INVALID_ARGUMENT', 'petId');
  if (pets === undefined) return allow(200, 404);
  const pet = pets.find(({ id }) => id === BigInt(petId));
  return pet ? { ...allow(200), body: jsonOf(pet) } : { statuses: [404], code: 'PET_NOT_FOUND' };
}

const PAGE_RULES: Readonly<Record<string, RegExp>> = {
  limit: /^(?:[1-9]\d?|100)$/,
  status: /^(?:available|pending|sold)$/,
  cursor: /^v1\.[0-9a-f]{16}$/,
};

function expectedPage(query: URLSearchParams, host: string, { pets }: ServiceState): ExpectedAnswer {
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
  if (pets === undefined) return allow(200);
  const limit = Number(query.get('limit') ?? 20);
  const filter = query.get('status');
  const afterId = cursorId(query.get('cursor'));
  const matches = pets.filter(({ id, status }) => id > afterId && (filter ?? status) === status);
  const page = matches.slice(0, limit);
  const last = page.at(-1);
  const next = last && matches.length > limit ? `v1.${last.id.toString(16).padStart(16, '0')}` : undefined;
  const url = `http://${host}/v1/pets?limit=${limit}${filter === null ? '' : `&status=${filter}`}&cursor=${next}`;
  const headers = { 'next-cursor': next, link: next && `<${url}>; rel="next"` };
  return { ...allow(200), body: `[${page.map(jsonOf).join(',')}]`, headers };
}

/** The id in the cursor. A page begins after this id. */
export function cursorId(cursor: string | null): bigint {
  return cursor === null ? -(2n ** 63n) : BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`));
}

function expectedCreate(request: ReadRequest, query: URLSearchParams, state: ServiceState): ExpectedAnswer {
  const [type = '', ...moreTypes] = valuesOf(request, 'content-type');
  const body = readPet(request);
  if (moreTypes.length > 0 || valuesOf(request, 'content-encoding').length > 1) {
    return { ...ANY_ANSWER, pet: body.pet };
  }
  if (!/^application\/json[ \t]*(?:;|$)/i.test(type)) return allow(415);
  const isPlainType = /^application\/json(?:; ?charset=utf-8)?$/i.test(type);
  const expected = expectedOfBody(body, query, valuesOf(request, 'idempotency-key'), state);
  return isPlainType ? expected : { pet: expected.pet, statuses: [415, ...(expected.statuses ?? [])] };
}

function expectedOfBody(
  body: ReadPet,
  query: URLSearchParams,
  keys: readonly string[],
  state: ServiceState,
): ExpectedAnswer {
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
  const { pet } = body;
  if (keys.length === 0) return expectedOfAdd([201, ...unclearStatuses], pet, undefined, state);
  return expectedOfAdd([201, 422, ...unclearStatuses], pet, key, state);
}

/** The answer to a valid create request, which adds a pet or uses an earlier Idempotency-Key. */
function expectedOfAdd(
  statuses: readonly number[],
  pet: PetContent | undefined,
  key: string | undefined,
  { pets, petsByKey }: ServiceState,
): ExpectedAnswer {
  if (pets === undefined || pet === undefined) return { statuses, pet };
  const oldPet = key === undefined ? undefined : petsByKey?.get(key);
  const isEqual =
    oldPet?.name === pet.name && oldPet.categoryId === pet.categoryId && oldPet.status === pet.status;
  if (oldPet !== undefined && !isEqual) return { statuses: [422], code: 'IDEMPOTENCY_KEY_REUSED' };
  const answerPet = oldPet ?? { id: (pets.at(-1)?.id ?? 0n) + 1n, ...pet };
  const headers = {
    location: `/v1/pets/${answerPet.id}`,
    'idempotent-replayed': oldPet === undefined ? undefined : 'true',
  };
  return { ...allow(201), body: jsonOf(answerPet), headers, pet, key };
}
