import type { RouterContext } from '@koa/router';
import { IdempotencyKeyReused } from '../../../application/pets/errors.ts';
import { petJson } from '../../json/exact-json.ts';
import type { State } from '../middleware/log-request.ts';
import { EXAMPLES, failure, response, thrownBy } from '../openapi/answers.ts';
import { LIMITED } from '../openapi/headers.ts';
import { type JsonObject, schemaRef } from '../openapi/schemas.ts';
import { GET_PET_DEPRECATION, isSunset } from '../contract/answer-headers.ts';
import { idempotencyKey } from '../contract/idempotency.ts';
import { MAX_IDEMPOTENCY_KEY_LENGTH } from '../contract/limits.ts';
import { bodyNotJson, INVALID_IDEMPOTENCY_KEY } from '../contract/refusals.ts';
import { NewPet, parse } from '../contract/schemas.ts';
import { type Operation, operation } from './operation.ts';

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    `Makes the request safe to repeat: 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} visible ASCII characters of your choice, ` +
    'such as the UUID `8e03978e-40d5-43dd-bc93-6894a57f9324`, bare or in double quotes. Double quotes also allow ' +
    'spaces and escaped quotes. Use a new key for each animal.',
  required: false,
  // No example: a tool that fills it in would send the same key for every animal.
  schema: { type: 'string', pattern: `^[!#-~]{1,${MAX_IDEMPOTENCY_KEY_LENGTH}}$` },
};

function keyOf({ req, method, state }: RouterContext<State>) {
  const { id, originId = id } = state.caller!;
  return idempotencyKey(req.headers['idempotency-key'], originId, `${method} ${createPet.route}`);
}

const { name, categoryId, status } = EXAMPLES.rex;

export const createPet: Operation = operation({
  name: 'createPet',
  method: 'post',
  path: '/pets',
  scope: 'pets:write',
  body: NewPet,
  checkHeaders: keyOf,
  summary: 'Add an animal',
  description:
    'The service answers `201` after the storage has acknowledged the animal as durable. After a `503` or a ' +
    'broken connection the outcome is unknown. Send an `Idempotency-Key` to retry safely: any number of retries ' +
    'with the same key and body adds exactly one animal. The key belongs to the API key that sent it. The ' +
    'service remembers it as long as the animal exists, and remembers no key of a failed request.',
  documentation: () => ({
    parameters: [IDEMPOTENCY_KEY],
    requestBody: {
      schema: schemaRef('NewPet'),
      examples: {
        minimal: { summary: 'Required fields only', value: { name, categoryId } },
        complete: { summary: 'All fields', value: { name, categoryId, status } },
      },
    },
    responses: {
      201: response('The new animal.', schemaRef('Pet'), { animal: EXAMPLES.rex }, [
        'Location',
        'Idempotent-Replayed',
        ...LIMITED,
      ]),
      400: failure(
        [
          thrownBy(() => parse(NewPet, { name: '', status: 'asleep' }, 'body')),
          bodyNotJson({ line: 1, column: 15 }),
          INVALID_IDEMPOTENCY_KEY,
        ],
        LIMITED,
      ),
      422: failure([new IdempotencyKeyReused()], LIMITED),
    },
  }),
  handler({ createPet: useCase, basePath, now, log }) {
    return async (ctx, _query, draft) => {
      const { requestId } = ctx.state;
      const caller = ctx.state.caller!;
      const { pet, replayed } = await useCase.execute(draft, keyOf(ctx));
      // Logged before the answer: the pet exists even if the client never learns of it.
      log.petCreated({ requestId, petId: pet.id, keyId: caller.id, keyLabel: caller.label, replayed });
      if (!isSunset(GET_PET_DEPRECATION, now())) ctx.set('Location', `${basePath}/v1/pets/${pet.id}`);
      if (replayed) ctx.set('Idempotent-Replayed', 'true');
      ctx.status = 201;
      ctx.body = JSON.stringify(petJson(pet));
    };
  },
});
