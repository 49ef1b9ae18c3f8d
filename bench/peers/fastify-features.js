// Fastify with what the service does: a pino line a request, request ids, keys by SHA-256, strict queries, a cursor and
// its Link, deprecation headers, errors of one form. Schemas for requests and answers, as Fastify recommends.
import { hash, randomUUID, timingSafeEqual } from 'node:crypto';
import Fastify, { LogController } from 'fastify';
import pino from 'pino';
import { openStore } from './store.js';

const store = await openStore(process.env.DATABASE_URL);
const digest = hash('sha256', process.env.API_KEYS, 'buffer');
const log = pino({ base: null }, pino.destination({ fd: 1, sync: false, minLength: 8192 }));

const app = Fastify({
  loggerInstance: log,
  logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
  genReqId: (request) => {
    const id = request.headers['x-request-id'];
    return id !== undefined && /^[\w.-]{1,64}$/.test(id) ? id : randomUUID();
  },
  ajv: { customOptions: { removeAdditional: false, useDefaults: true, coerceTypes: true, allErrors: true } },
});

const pet = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    categoryId: { type: 'integer' },
    status: { type: 'string' },
  },
};
const status = { type: 'string', enum: ['available', 'pending', 'sold'] };

app.addHook('onRequest', async (request, reply) => {
  reply.headers({
    'X-Request-Id': request.id,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  const token = /^bearer +([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (token !== undefined && timingSafeEqual(hash('sha256', token, 'buffer'), digest)) return;
  reply.header('WWW-Authenticate', 'Bearer realm="petstore", error="invalid_token"');
  throw Object.assign(new Error('the API key is not valid'), { statusCode: 401, code: 'UNAUTHENTICATED' });
});
app.addHook('onResponse', async (request, reply) => {
  request.log.info(
    {
      method: request.method,
      route: request.routeOptions.url,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
      keyId: 'key-1',
      keyLabel: 'key-1',
    },
    'request',
  );
});
app.setErrorHandler((error, _request, reply) => {
  const code = error.validation === undefined ? error.code : 'INVALID_ARGUMENT';
  const answer = error.statusCode ?? 500;
  reply.code(answer).send({ code, message: error.message, status: answer });
});

app.get(
  '/v1/pets',
  {
    schema: {
      querystring: {
        type: 'object',
        additionalProperties: false,
        properties: {
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
          status,
          cursor: { type: 'string', pattern: '^v1\\.[0-9a-f]{16}$' },
        },
      },
      response: { 200: { type: 'array', items: pet } },
    },
  },
  async (request, reply) => {
    const { limit, status: wanted, cursor } = request.query;
    const after = cursor === undefined ? 0 : Number(`0x${cursor.slice(3)}`);
    const found = await store.list({ limit: limit + 1, status: wanted, after });
    if (found.length <= limit) return found;
    const pets = found.slice(0, limit);
    const next = `v1.${pets[limit - 1].id.toString(16).padStart(16, '0')}`;
    const filter = wanted === undefined ? '' : `&status=${wanted}`;
    const url = `http://${request.headers.host}/v1/pets?limit=${limit}${filter}&cursor=${next}`;
    reply.header('Link', `<${url}>; rel="next"`);
    reply.header('Next-Cursor', next);
    return pets;
  },
);
app.post(
  '/v1/pets',
  {
    schema: {
      body: {
        type: 'object',
        required: ['name', 'categoryId'],
        properties: {
          name: { type: 'string', minLength: 1, maxLength: 255 },
          categoryId: { type: 'integer' },
          status: { ...status, default: 'available' },
        },
      },
      response: { 201: pet },
    },
  },
  async (request, reply) => {
    const created = await store.insert(request.body);
    request.log.info({ audit: 'pet.created', petId: created.id, keyId: 'key-1', keyLabel: 'key-1' }, 'audit');
    return reply.code(201).header('Location', `/v1/pets/${created.id}`).send(created);
  },
);
app.get(
  '/v1/pets/:petId',
  {
    schema: {
      params: { type: 'object', properties: { petId: { type: 'integer' } } },
      querystring: { type: 'object', additionalProperties: false },
      response: { 200: pet },
    },
  },
  async (request, reply) => {
    reply.headers({
      Deprecation: '@1795132800',
      Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
      Link: `<http://${request.headers.host}/docs#getPet>; rel="deprecation"; type="text/html"`,
    });
    const found = await store.get(request.params.petId);
    if (found !== undefined) return found;
    throw Object.assign(new Error('no such pet'), { statusCode: 404, code: 'PET_NOT_FOUND' });
  },
);
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
