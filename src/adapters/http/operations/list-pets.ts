import * as v from 'valibot';
import { DamagedPet } from '../../../application/pets/errors.ts';
import { StorageUnavailable } from '../../../application/ports/storage-errors.ts';
import { PAGE_SIZE, PET_STATUSES } from '../../../domain/pet.ts';
import { petJson } from '../../json/exact-json.ts';
import { EXAMPLES, failure, response } from '../openapi/answers.ts';
import { optional, shared } from '../openapi/headers.ts';
import { schemaRef } from '../openapi/schemas.ts';
import { refusalOf } from '../contract/parse.ts';
import { CURSOR_PATTERN, decodeCursor, encodeCursor, strictQuery } from '../contract/query.ts';
import { PetStatus } from '../contract/schemas.ts';
import { V1 } from '../contract/versions.ts';
import { type Operation, operation } from './operation.ts';

// Each message follows the name of its parameter.
const ONCE_RULE = 'must be given only once';
const LIMIT_RULE = `must be an integer from ${PAGE_SIZE.min} to ${PAGE_SIZE.max} in plain decimal digits`;
const CURSOR_RULE = 'must be a cursor from the Next-Cursor or Link header of an earlier page';

const Limit = v.pipe(
  v.string(ONCE_RULE),
  v.regex(/^[1-9]\d{0,2}$/, LIMIT_RULE),
  v.transform(Number),
  v.number(),
  v.integer(),
  v.minValue(PAGE_SIZE.min, LIMIT_RULE),
  v.maxValue(PAGE_SIZE.max, LIMIT_RULE),
  v.metadata({
    description:
      'Maximum number of animals to return, in canonical decimal digits (`20`; not `020`, `+20`, `2e1`). Never ' +
      'clamped: the service refuses a value out of range.',
    example: PAGE_SIZE.default,
  }),
);

const Cursor = v.pipe(
  v.string(ONCE_RULE),
  v.check((cursor) => decodeCursor(cursor) !== undefined, CURSOR_RULE),
  v.metadata({
    description:
      'Where the page begins: the `Next-Cursor` of the previous page. Opaque. Never expires. The example is the ' +
      'beginning of the catalogue.',
    pattern: CURSOR_PATTERN,
    example: encodeCursor(0n),
  }),
);

const Status = v.pipe(
  v.string(ONCE_RULE),
  PetStatus,
  v.description('Restricts the result to animals with this status. All animals when absent.'),
);

export const PageQuery = strictQuery({
  limit: v.optional(Limit, String(PAGE_SIZE.default)),
  status: v.optional(Status),
  cursor: v.optional(Cursor),
});

const nextPageHeaders = () => ({
  Link: optional(
    'The absolute URL of the next page (RFC 8288), with the same filter and limit. Absent on the last page.',
    { pattern: '^<https?://[^<> ]+[?&]cursor=[^<>& ]+>; rel="next"$' },
    `<https://petstore.example${listPets.route}?limit=2&status=${PET_STATUSES[0]}` +
      `&cursor=${encodeCursor(43n)}>; rel="next"`,
  ),
  'Next-Cursor': optional(
    'The `cursor` of the next page, for clients that do not parse `Link`. Absent on the last page.',
    { pattern: CURSOR_PATTERN },
    encodeCursor(43n),
  ),
});

export const listPets: Operation = operation({
  name: 'listPets',
  method: 'get',
  version: V1,
  path: '/pets',
  scope: 'pets:read',
  query: PageQuery,
  summary: 'List animals',
  description:
    `Returns up to \`limit\` animals in ascending order of id. \`limit\` is from ${PAGE_SIZE.min} to ` +
    `${PAGE_SIZE.max}, by default ${PAGE_SIZE.default}. When more animals follow, the \`Link\` header carries the ` +
    'URL of the next page, and `Next-Cursor` carries its `cursor`. Follow one of them until it is absent. Such a ' +
    'walk returns every animal that existed when the walk began exactly once, even while animals are added. A ' +
    'page never skips an animal whose stored record is damaged: the page ends before that animal, and the next ' +
    'page answers `503`.',
  documentation: (headers) => ({
    responses: {
      200: response(
        'A page of animals; an empty array when there are none.',
        schemaRef('Pets'),
        { page: [EXAMPLES.rex, EXAMPLES.mia], none: [] },
        { ...nextPageHeaders(), ...headers },
      ),
      400: failure(
        [
          refusalOf(PageQuery, { limit: String(PAGE_SIZE.max + 1), page: '2' }, 'query'),
          refusalOf(PageQuery, { cursor: 'page-2' }, 'query'),
        ],
        headers,
      ),
      503: failure(
        [new StorageUnavailable('no answer')],
        { ...nextPageHeaders(), ...shared('Retry-After'), ...headers },
        'When the first animal of the page is damaged, `Link` and `Next-Cursor` lead to the page after that animal.',
      ),
    },
  }),
  handler({ listPets: useCase, baseUrl }) {
    return async (ctx, { limit, status, cursor }) => {
      const after = cursor === undefined ? undefined : decodeCursor(cursor);
      const linkNext = (id: bigint) => {
        const filter = status === undefined ? '' : `&status=${status}`;
        const next = encodeCursor(id);
        const url = `${baseUrl(ctx.req)}${listPets.route}?limit=${limit}${filter}&cursor=${next}`;
        ctx.set({ Link: `<${url}>; rel="next"`, 'Next-Cursor': next });
      };
      try {
        const { pets, next } = await useCase.execute({ limit, status, after });
        if (next !== undefined) linkNext(next);
        ctx.body = JSON.stringify(pets.map(petJson));
      } catch (error) {
        // The link must lead to greater ids. A client could follow any other link for ever.
        if (error instanceof DamagedPet && (after === undefined || error.id > after)) linkNext(error.id);
        throw error;
      }
    };
  },
});
