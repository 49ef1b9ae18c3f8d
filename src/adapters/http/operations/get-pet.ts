import * as v from 'valibot';
import { PetNotFound } from '../../../application/pets/errors.ts';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import { isInt64 } from '../../../domain/pet.ts';
import { petJson } from '../../json/exact-json.ts';
import { EXAMPLES, failure, response } from '../openapi/answers.ts';
import { LIMITED } from '../openapi/headers.ts';
import { parameter, schemaRef } from '../openapi/schemas.ts';
import { type Deprecation, sunsetDay } from '../contract/deprecation.ts';
import { parse, refusalOf } from '../contract/parse.ts';
import { gone } from '../contract/refusals.ts';
import { V1 } from '../contract/versions.ts';
import { listPets } from './list-pets.ts';
import { operation } from './operation.ts';

const PET_ID_RULE = 'must be an int64 in canonical decimal digits';

const PetId = v.pipe(
  v.string(PET_ID_RULE),
  v.regex(/^(?:0|-?[1-9]\d{0,18})$/, PET_ID_RULE),
  v.transform((digits) => BigInt(digits)),
  v.bigint(),
  v.check(isInt64, PET_ID_RULE),
  v.metadata({
    description:
      'Identifier of the animal: an int64 in canonical decimal digits (`42`; not `042`, `+42`, `42.0`).',
    example: 42,
  }),
);

/** Clients know the days from `CHANGELOG.md`. After the sunset, no operation has the path of a single pet. */
export const GET_PET_DEPRECATION: WhilePetsNeverChange<Deprecation> = {
  since: new Date('2026-11-20'),
  sunset: new Date('2030-12-05'),
  replacement: `GET ${listPets.route}`,
};

export const getPet = operation({
  name: 'getPet',
  method: 'get',
  version: V1,
  path: '/pets/{petId}',
  scope: 'pets:read',
  deprecation: GET_PET_DEPRECATION,
  summary: 'Get an animal',
  description:
    `Deprecated. Answers \`410\` from ${sunsetDay(GET_PET_DEPRECATION)} on. Use \`${GET_PET_DEPRECATION.replacement}\` with a \`status\` ` +
    'filter instead. Every response announces this in `Deprecation`, `Sunset` and `Link`, unless the service ' +
    'could not parse the path.',
  documentation: (headers) => ({
    parameters: [parameter('path', 'petId', PetId)],
    responses: {
      200: response('The animal.', schemaRef('Pet'), { animal: EXAMPLES.rex }, headers),
      400: failure([refusalOf(PetId, '042', 'petId')], LIMITED),
      404: failure([new PetNotFound(42n)], headers),
      410: failure([gone(GET_PET_DEPRECATION)], headers),
    },
  }),
  handler({ getPet: useCase }) {
    return async (ctx) => {
      ctx.body = JSON.stringify(petJson(await useCase.execute(parse(PetId, ctx.params['petId'], 'petId'))));
    };
  },
});
