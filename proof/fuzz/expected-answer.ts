import { MAX_URL_BYTES } from '../../src/adapters/http/contract/limits.ts';
import { isInt64, petIn, type ReadPet, type WantedPet } from './read-pet.ts';
import { type ReadRequest, valuesOf } from './read-requests.ts';

export type StoredPet = WantedPet & { readonly id: bigint };

/** A service, as far as its answers depend on it. */
export type State = {
  /** Its one API key. */
  readonly key: string;
  /** Its pets, in the order of their ids. Without them, the answer is left open where it depends on them. */
  readonly pets?: readonly StoredPet[];
  /** The pet of each Idempotency-Key. */
  readonly byKey?: ReadonlyMap<string, StoredPet>;
};

/** What a whole request may be answered. */
export type Expected = {
  /** `undefined`: anything that does not blame the service. */
  readonly statuses: readonly number[] | undefined;
  /** The code of the error. */
  readonly code?: string;
  /** What the message of the error names. */
  readonly names?: readonly string[];
  /** The body of a success. */
  readonly body?: string;
  /** Headers of a success that depend on the request. One of `undefined` must be missing. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The pet that it may add. */
  readonly pet?: WantedPet | undefined;
  /** The Idempotency-Key, without quotes. */
  readonly key?: string | undefined;
};

const only = (...statuses: number[]): Expected => ({ statuses });
const refused = (code: string, ...names: readonly string[]): Expected => ({ statuses: [400], code, names });

const ANYTHING: Expected = { statuses: undefined };

/** The paths that need no key. The script of the page is left out: it has a megabyte. */
const SYSTEM_PATHS = ['/livez', '/readyz', '/openapi.json', '/docs', '/docs/docs.css', '/docs/docs.js'];

/**
 * Derives the answer from the contract, independently of the service: the checks in their order. The fuzzer, the
 * properties of the API and those of its document share it.
 */
export function expectedAnswer(request: ReadRequest, state: State): Expected {
  const { method, target, version } = request;
  // Its pet counts as asked for, however it is answered.
  const unclear = { ...ANYTHING, pet: petIn(request).pet };
  if (request.isOdd || !target.startsWith('/')) return unclear;
  // A target has no fragment and no backslash: RFC 9112, section 3.2.
  if (/[#\\]/.test(target)) return refused('INVALID_ARGUMENT');
  const [path = '', ...queries] = target.split('?');
  const query = new URLSearchParams(`?${queries.join('?')}`);
  const hosts = valuesOf(request, 'host');
  if (hosts.length > 1 || (hosts.length === 0 && version === '1.1')) return only(400);
  if (!/^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(hosts[0] ?? 'none')) return only(400);
  const authorizations = valuesOf(request, 'authorization');
  if (authorizations.length > 1) return only(400);
  if (target.length > MAX_URL_BYTES) return only(414);
  if (path === '/v1' || path.startsWith('/v1/')) {
    const token = /^bearer +(\S+) *$/i.exec(authorizations[0] ?? '')?.[1];
    if (token !== state.key) return only(401);
  }
  const isRead = method === 'GET' || method === 'HEAD';
  const resource = resourceAt(path);
  if (resource === 'unclear') return unclear;
  if (resource === 'none') return only(404);
  if (method === 'OPTIONS') return only(204);
  if (resource === 'pets' && method === 'POST') return expectedCreate(request, query, state);
  if (!isRead) return only(405);
  if (resource === 'pets') return expectedPage(query, hosts[0] ?? '', state);
  if (resource === 'system') return only(200);
  if (resource === 'root') return only(200, 302);
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

function expectedPet(petId: string, query: URLSearchParams, { pets }: State): Expected {
  if (query.size > 0) return refused('INVALID_ARGUMENT', ...query.keys());
  const isId = /^(?:0|-?[1-9]\d{0,18})$/.test(petId) && isInt64(BigInt(petId));
  if (!isId) return refused('INVALID_ARGUMENT', 'petId');
  if (pets === undefined) return only(200, 404);
  const pet = pets.find(({ id }) => id === BigInt(petId));
  return pet === undefined ? { statuses: [404], code: 'PET_NOT_FOUND' } : { ...only(200), body: jsonOf(pet) };
}

const PAGE_RULES: Readonly<Record<string, RegExp>> = {
  limit: /^(?:[1-9]\d?|100)$/,
  status: /^(?:available|pending|sold)$/,
  cursor: /^v1\.[0-9a-f]{16}$/,
};

function expectedPage(query: URLSearchParams, host: string, { pets }: State): Expected {
  const bad = [...query]
    .filter(([name, value]) => {
      const isKnown = Object.hasOwn(PAGE_RULES, name) && PAGE_RULES[name]?.test(value) === true;
      return !isKnown || query.getAll(name).length > 1;
    })
    .map(([name]) => name);
  if (bad.length > 0) {
    const isCursor = bad.every((name) => name === 'cursor');
    return refused(isCursor ? 'INVALID_CURSOR' : 'INVALID_ARGUMENT', ...bad);
  }
  if (pets === undefined) return only(200);
  const limit = Number(query.get('limit') ?? 20);
  const filter = query.get('status');
  const after = cursorId(query.get('cursor'));
  const rest = pets.filter(({ id, status }) => id > after && (filter ?? status) === status);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const next = last && rest.length > limit ? `v1.${last.id.toString(16).padStart(16, '0')}` : undefined;
  const url = `http://${host}/v1/pets?limit=${limit}${filter === null ? '' : `&status=${filter}`}&cursor=${next}`;
  const headers = { 'next-cursor': next, link: next && `<${url}>; rel="next"` };
  return { ...only(200), body: `[${page.map(jsonOf).join(',')}]`, headers };
}

/** The id after which a page begins. */
export function cursorId(cursor: string | null): bigint {
  return cursor === null ? -(2n ** 63n) : BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`));
}

function expectedCreate(request: ReadRequest, query: URLSearchParams, state: State): Expected {
  const [type = '', ...moreTypes] = valuesOf(request, 'content-type');
  const read = petIn(request);
  if (moreTypes.length > 0 || valuesOf(request, 'content-encoding').length > 1) {
    return { ...ANYTHING, pet: read.pet };
  }
  if (!/^application\/json[ \t]*(?:;|$)/i.test(type)) return only(415);
  const isPlainType = /^application\/json(?:; ?charset=utf-8)?$/i.test(type);
  const later = expectedOfBody(read, query, valuesOf(request, 'idempotency-key'), state);
  return isPlainType ? later : { pet: later.pet, statuses: [415, ...(later.statuses ?? [])] };
}

function expectedOfBody(
  read: ReadPet,
  query: URLSearchParams,
  keys: readonly string[],
  state: State,
): Expected {
  if (read.is === 'unknown coding') return only(415);
  if (query.size > 0) return refused('INVALID_ARGUMENT', ...query.keys());
  const inner = /^"((?:[ !#-[\]-~]|\\["\\])+)"$/.exec(keys[0] ?? '')?.[1]?.replaceAll(/\\(.)/g, '$1');
  const key = inner ?? (/^[!#-~]+$/.test(keys[0] ?? '') ? (keys[0] ?? '') : '');
  if (keys.length > 1) return { statuses: [201, 400, 413, 422], pet: read.pet };
  // The headers decide it, so it comes before the body.
  if (keys.length > 0 && (key === '' || key.length > 255)) return refused('INVALID_IDEMPOTENCY_KEY');
  if (read.is === 'too large') return only(413);
  if (read.is === 'broken') return only(400);
  if (read.is === 'malformed') return refused('MALFORMED_JSON');
  if (read.is === 'wrong') return refused('INVALID_ARGUMENT', ...read.names);
  const perhaps = read.is === 'unclear' ? [400] : [];
  const { pet } = read;
  if (keys.length === 0) return added([201, ...perhaps], pet, undefined, state);
  return added([201, 422, ...perhaps], pet, key, state);
}

/** A pet is added, or a retry gets the one that is there. */
function added(
  statuses: readonly number[],
  pet: WantedPet | undefined,
  key: string | undefined,
  { pets, byKey }: State,
): Expected {
  if (pets === undefined || pet === undefined) return { statuses, pet };
  const known = key === undefined ? undefined : byKey?.get(key);
  const isSame =
    known?.name === pet.name && known.categoryId === pet.categoryId && known.status === pet.status;
  if (known !== undefined && !isSame) return { statuses: [422], code: 'IDEMPOTENCY_KEY_REUSED' };
  const answered = known ?? { id: (pets.at(-1)?.id ?? 0n) + 1n, ...pet };
  const headers = {
    location: `/v1/pets/${answered.id}`,
    'idempotent-replayed': known === undefined ? undefined : 'true',
  };
  return { ...only(201), body: jsonOf(answered), headers, pet, key };
}
