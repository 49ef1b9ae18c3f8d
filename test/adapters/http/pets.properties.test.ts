import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeCursor } from '../../../src/adapters/http/wire/query.ts';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { INT64_MIN, type NewPet, type Pet, PET_STATUSES } from '../../../src/domain/pet.ts';
import { command as commandOf } from '../../contracts/model.ts';
import { aNewPet, int64, petStatus, text } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';
import { spell } from '../../properties/json-arbitraries.ts';
import type { Answer } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { stored } from '../../support/pets.ts';

/** The JSON of a pet, as the contract has it. */
function jsonOf({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

function codeOf({ body }: Answer): string {
  return (JSON.parse(body) as { readonly code: string }).code;
}

/** What the contract says about a query of listPets, from the specification of URLs and nothing of ours. */
function read(query: string) {
  const decoded = (part: string) => {
    const bytes = part
      .replaceAll('+', ' ')
      .replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
    return Buffer.from(bytes, 'latin1').toString('utf8');
  };
  const pairs = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [decoded(name), decoded(value.join('='))] as const;
    });
  const given = Object.fromEntries(pairs) as Record<string, string | undefined>;
  const valid: Record<string, RegExp> = {
    limit: /^(?:[1-9]\d?|100)$/,
    status: new RegExp(`^(?:${PET_STATUSES.join('|')})$`),
    cursor: /^v1\.[0-9a-f]{16}$/,
  };
  const problems = new Set(
    pairs
      .filter(
        ([name, value], at) =>
          !(Object.hasOwn(valid, name) && valid[name]!.test(value)) ||
          pairs.some(([other], index) => index !== at && other === name),
      )
      .map(([name]) => name),
  );
  return { ...given, problems } as {
    readonly limit?: string;
    readonly status?: string;
    readonly cursor?: string;
    readonly problems: Set<string>;
  };
}

const encode = (value: string, bits: number) =>
  Array.from(Buffer.from(value, 'utf8'), (byte, at) =>
    byte <= 0x20 ||
    byte >= 0x7f ||
    '%&=+#\\'.includes(String.fromCharCode(byte)) ||
    ((bits >> (at % 31)) & 1) === 1
      ? `%${byte.toString(16).padStart(2, '0')}`
      : String.fromCharCode(byte),
  ).join('');

const spelledParameter = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: fc.tuple(fc.constant('limit'), fc.integer({ min: -1, max: 102 }).map(String)) },
      { weight: 6, arbitrary: fc.tuple(fc.constant('status'), petStatus) },
      {
        weight: 6,
        arbitrary: fc.tuple(
          fc.constant('cursor'),
          fc.oneof(fc.bigInt({ min: -2n, max: 12n }), int64).map(encodeCursor),
        ),
      },
      fc.tuple(
        fc.constantFrom('limit', 'status', 'cursor', 'Limit', 'page', '?limit', '__proto__', 'cursor[0]', ''),
        fc.oneof(fc.constantFrom('', '05', '5 ', 'sold\0'), text),
      ),
    ),
    fc.nat(),
  )
  .map(([[name, value], bits]) => `${encode(name, bits)}=${encode(value, bits >> 3)}`);

// Every byte but those that end the target of a request.
const byte = fc
  .integer({ min: 0, max: 255 })
  .map((code) => String.fromCharCode(code))
  .filter((character) => !'\r\n '.includes(character));

const query = fc.oneof(
  { weight: 4, arbitrary: fc.array(spelledParameter, { maxLength: 4 }).map((parts) => parts.join('&')) },
  fc
    .array(
      fc.oneof(
        spelledParameter,
        fc.constantFrom('', '&', 'limit', 'limit=5&', '#', '#x', '\\', 'limit=%3', '%', '+', '?', '='),
      ),
      { maxLength: 4 },
    )
    .map((parts) => parts.join('&')),
  fc
    .tuple(spelledParameter, fc.nat(40), byte)
    .map(([part, at, mark]) => part.slice(0, at) + mark + part.slice(at)),
  fc.string({ unit: byte, maxLength: 12 }),
);

describe('any query of listPets', () => {
  it('is answered with the page that it describes, or with 400', async () => {
    const pets = new InMemoryPetRepository();
    const all = await stored(
      pets,
      ...Array.from({ length: 9 }, (_, n) => ({ status: PET_STATUSES[n % 3]! })),
    );
    await using api = await startApi({ pets });
    await holds(
      fc.asyncProperty(query, async (sent) => {
        const headers = `Host: a\r\nConnection: close\r\nAuthorization: Bearer ${api.key}\r\n`;
        const request = `GET /v1/pets?${sent} HTTP/1.1\r\n${headers}\r\n`;
        const [answer, ...more] = await api.raw(Buffer.from(request, 'latin1'));
        expect(more).toStrictEqual([]);
        const { problems, limit = '20', status, cursor } = read(sent);
        // RFC 3986, section 3.4, and RFC 9112, section 3.2: not in a query.
        if (/[^!-~]|[#\\]/.test(sent)) {
          expect([answer!.status, codeOf(answer!)]).toStrictEqual([400, 'INVALID_ARGUMENT']);
        } else if (problems.size > 0) {
          const isCursor = [...problems].join() === 'cursor';
          expect([answer!.status, codeOf(answer!)]).toStrictEqual([
            400,
            isCursor ? 'INVALID_CURSOR' : 'INVALID_ARGUMENT',
          ]);
          const { message } = JSON.parse(answer!.body) as { readonly message: string };
          for (const name of problems) expect(message).toContain(name);
        } else {
          const after = cursor === undefined ? INT64_MIN : BigInt.asIntN(64, BigInt(`0x${cursor.slice(3)}`));
          const rest = all.filter((pet) => pet.id > after && (status ?? pet.status) === pet.status);
          expect([answer!.status, answer!.body]).toStrictEqual([
            200,
            `[${rest.slice(0, Number(limit)).map(jsonOf).join(',')}]`,
          ]);
          expect('next-cursor' in answer!.headers).toBe(rest.length > Number(limit));
        }
      }),
      150,
    );
  });
});

type Model = {
  readonly pets: Pet[];
  readonly keys: Map<string, { readonly pet: Pet; readonly draft: NewPet }>;
};
const command = commandOf<Model, Api>;

const post = fc
  .tuple(
    aNewPet,
    fc.nat(),
    fc.option(fc.constantFrom('a', 'b', '"a"', '"b"'), { nil: undefined }),
    fc.boolean(),
  )
  .map(([fresh, bits, key, isRetry]) =>
    command(`POST ${fc.stringify(fresh)} ${key} ${isRetry ? 'again' : ''}`, async ({ pets, keys }, api) => {
      const bare = key?.replaceAll('"', '');
      const known = bare === undefined ? undefined : keys.get(bare);
      const draft = isRetry && known !== undefined ? known.draft : fresh;
      const { name, categoryId, status } = draft;
      const fields = [
        `${spell('status', bits)}:${spell(status, bits)}`,
        `"name":${spell(name, bits >> 1)}`,
        `"categoryId":${categoryId}`,
      ];
      const body = `{${fields.join(',')}}`;
      const answer = await api.post(body, key === undefined ? {} : { 'idempotency-key': key });
      if (known !== undefined && draft !== known.draft && !sameDraft(draft, known.draft)) {
        expect([answer.status, codeOf(answer)]).toStrictEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
        return;
      }
      const pet = known?.pet ?? { id: BigInt(pets.length + 1), ...draft };
      if (known === undefined) pets.push(pet);
      if (known === undefined && bare !== undefined) keys.set(bare, { pet, draft });
      const { location, 'idempotent-replayed': replayed } = answer.headers;
      expect([answer.status, answer.body, location, replayed]).toStrictEqual([
        201,
        jsonOf(pet),
        `/v1/pets/${pet.id}`,
        known === undefined ? undefined : 'true',
      ]);
    }),
  );

function sameDraft(a: NewPet, b: NewPet): boolean {
  return a.name === b.name && a.categoryId === b.categoryId && a.status === b.status;
}

const postBad = fc
  .constantFrom(
    '{"name":"","categoryId":1}',
    '{"name":"Rex"}',
    '[]',
    '{',
    '{"name":"Rex","categoryId":1,"status":null}',
  )
  .map((body) =>
    command(`POST ${body}`, async (_model, api) => {
      expect((await api.post(body, { 'idempotency-key': 'a' })).status).toBe(400);
    }),
  );

const get = fc.oneof(fc.bigInt({ min: -1n, max: 20n }), int64).map((id) =>
  command(`GET ${id}`, async ({ pets }, api) => {
    const pet = pets.find((one) => one.id === id);
    const answer = await api.get(`/v1/pets/${id}`);
    if (pet !== undefined) expect([answer.status, answer.body]).toStrictEqual([200, jsonOf(pet)]);
    else expect([answer.status, codeOf(answer)]).toStrictEqual([404, 'PET_NOT_FOUND']);
  }),
);

const walk = fc
  .tuple(
    fc.option(petStatus, { nil: undefined }),
    fc.integer({ min: 1, max: 3 }),
    fc.boolean(),
    fc.option(aNewPet, { nil: undefined }),
  )
  .map(([status, limit, byLink, added]) =>
    command(`walk ${fc.stringify({ status, limit, byLink, added })}`, async ({ pets }, api) => {
      const filter = status === undefined ? '' : `&status=${status}`;
      const pages: string[] = [];
      let next: string | undefined = `/v1/pets?limit=${limit}${filter}`;
      while (next !== undefined) {
        const { status: code, headers, body }: Answer = await api.get(next);
        expect(code).toBe(200);
        pages.push(body.slice(1, -1));
        const [, link] = /^<http:\/\/[^/]+(.*)>; rel="next"$/.exec(String(headers['link'] ?? '')) ?? [];
        const cursor = headers['next-cursor'];
        expect(link === undefined).toBe(cursor === undefined);
        next =
          byLink || cursor === undefined ? link : `/v1/pets?limit=${limit}${filter}&cursor=${String(cursor)}`;
        // Added behind the first page, so a walk that goes on sees it.
        if (pages.length === 1 && next !== undefined && added !== undefined) {
          pets.push({ id: BigInt(pets.length + 1), ...added });
          expect(
            (
              await api.post(
                `{"name":${spell(added.name, 0)},"categoryId":${added.categoryId},"status":"${added.status}"}`,
              )
            ).status,
          ).toBe(201);
        }
      }
      const expected = pets.filter((pet) => (status ?? pet.status) === pet.status).map(jsonOf);
      const asked = Array.from({ length: Math.max(1, Math.ceil(expected.length / limit)) }, (_, n) =>
        expected.slice(n * limit, (n + 1) * limit).join(','),
      );
      expect(pages).toStrictEqual(asked);
    }),
  );

describe('any sequence of requests', () => {
  it('is answered like an array would answer it', async () => {
    await holds(
      fc.asyncProperty(
        fc.commands([post, post, post, postBad, get, walk, walk], { maxCommands: 30, size: 'max' }),
        async (calls) => {
          await using api = await startApi();
          await fc.asyncModelRun(() => ({ model: { pets: [], keys: new Map() }, real: api }), calls);
        },
      ),
      15,
    );
  });
});
