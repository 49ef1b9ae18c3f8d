// Fastify as its "getting started" has it: no log, no validation, one hook for the key.
import Fastify from 'fastify';
import { openStore } from './store.js';

const store = await openStore(process.env.DATABASE_URL);
const authorization = `Bearer ${process.env.API_KEYS}`;
const app = Fastify();

app.addHook('onRequest', (request, reply, done) => {
  if (request.headers.authorization === authorization) done();
  else reply.code(401).send({ code: 'UNAUTHENTICATED', message: 'the API key is not valid', status: 401 });
});
app.get('/v1/pets', async (request, reply) => {
  const { limit = 20, status, after = 0 } = request.query;
  if (!(limit >= 1 && limit <= 100)) {
    return reply.code(400).send({ code: 'INVALID_ARGUMENT', message: 'limit is wrong', status: 400 });
  }
  return store.list({ limit: Number(limit), status, after: Number(after) });
});
app.post('/v1/pets', async (request, reply) => {
  const pet = await store.insert(request.body);
  return reply.code(201).send(pet);
});
app.get('/v1/pets/:petId', async (request, reply) => {
  const pet = await store.get(Number(request.params.petId));
  if (pet !== undefined) return pet;
  return reply.code(404).send({ code: 'PET_NOT_FOUND', message: 'no such pet', status: 404 });
});
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
