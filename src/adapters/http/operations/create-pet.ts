import { IdempotencyKeyReused } from '../../../application/pets/errors.ts';
import { petJson } from '../../json/exact-json.ts';
import { EXAMPLES, failure, response } from '../openapi/answers.ts';
import { optional } from '../openapi/headers.ts';
import { type JsonObject, schemaRef } from '../openapi/schemas.ts';
import { isSunset, sunsetDay } from '../contract/deprecation.ts';
import { idempotencyKey } from '../contract/idempotency.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../contract/limits.ts';
import { bodyNotJson, INVALID_IDEMPOTENCY_KEY } from '../contract/refusals.ts';
import { refusalOf } from '../contract/parse.ts';
import { NewPet } from '../contract/schemas.ts';
import { V1 } from '../contract/versions.ts';
import { GET_PET_DEPRECATION } from './get-pet.ts';
import { type Operation, operation } from './operation.ts';

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `Makes the request safe to repeat: 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters of your choice, ` +
    'such as the UUID `8e03978e-40d5-43dd-bc93-6894a57f9324`, bare or in double quotes. Double quotes also allow ' +
    'spaces and escaped quotes. Use a new key for each animal.',
  required: false,
  // There is no example, because a tool would send the same key for every animal.
  schema: { type: 'string', pattern: `^[!#-~]{1,${MAX_IDEMPOTENCY_KEY_LENGTH}}$` },
};

const { name, categoryId, status } = EXAMPLES.rex;

export const createPet: Operation = operation({
  name: 'createPet',
  method: 'post',
  version: V1,
  path: '/pets',
  scope: 'pets:write',
  body: NewPet,
  readHeaders({ req, method, state }) {
    const { id, originId = id } = state.caller!;
    const operationName = `${method} ${createPet.route}`;
    state.idempotencyKey = idempotencyKey(req.headers['idempotency-key'], originId, operationName);
  },
  summary: 'Add an animal',
  description:
    'The service answers `201` after the storage has acknowledged the animal as durable. After a `503` or a ' +
    'broken connection the outcome is unknown. Send an `Idempotency-Key` to retry safely: any number of retries ' +
    'with the same key and body adds exactly one animal. The key belongs to the API key that sent it. The ' +
    'service remembers it as long as the animal exists, and remembers no key of a failed request.',
  documentation: (headers) => ({
    parameters: [IDEMPOTENCY_KEY],
    requestBody: {
      schema: schemaRef('NewPet'),
      examples: {
        minimal: { summary: 'Required fields only', value: { name, categoryId } },
        complete: { summary: 'All fields', value: { name, categoryId, status } },
      },
    },
    responses: {
      201: response(
        'The new animal.',
        schemaRef('Pet'),
        { animal: EXAMPLES.rex },
        {
          Location: optional(
            'The path of the new animal, below the path of the server. Absent from ' +
              `${sunsetDay(GET_PET_DEPRECATION)} on, when getPet is removed.`,
            { format: 'uri-reference', pattern: `^(/[^?#]*)?${createPet.route}/[1-9][0-9]*$` },
            `${createPet.route}/42`,
          ),
          'Idempotent-Replayed': optional(
            'Present when an earlier request with the same `Idempotency-Key` added the animal.',
            { enum: ['true'] },
            'true',
          ),
          ...headers,
        },
      ),
      400: failure(
        [
          refusalOf(NewPet, { name: '', status: 'asleep' }, 'body'),
          bodyNotJson({ line: 1, column: 15 }),
          INVALID_IDEMPOTENCY_KEY,
        ],
        headers,
      ),
      422: failure([new IdempotencyKeyReused()], headers),
    },
  }),
  handler({ createPet: useCase, basePath, now, log }) {
    const location = basePath + createPet.route;
    return async (ctx, _query, draft) => {
      const { requestId, idempotencyKey: key, caller } = ctx.state;
      const { pet, replayed } = await useCase.execute(draft, key);
      // Logged before the answer, because the pet exists even if the answer is lost.
      log.petCreated({ requestId, petId: pet.id, keyId: caller!.id, keyLabel: caller!.label, replayed });
      if (!isSunset(GET_PET_DEPRECATION, now())) ctx.set('Location', `${location}/${pet.id}`);
      if (replayed) ctx.set('Idempotent-Replayed', 'true');
      ctx.status = 201;
      ctx.body = JSON.stringify(petJson(pet));
    };
  },
});
