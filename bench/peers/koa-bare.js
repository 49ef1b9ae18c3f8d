// Koa without anything else: the ceiling of a service on Koa. No router, no log, no validation.
import Koa from 'koa';
import { openStore } from './store.js';

const store = await openStore(process.env.DATABASE_URL);
const authorization = `Bearer ${process.env.API_KEYS}`;
const app = new Koa();

async function bodyOf(request) {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

function fail(ctx, status, code, message) {
  ctx.status = status;
  ctx.body = { code, message, status };
}

app.use(async (ctx) => {
  const { path, method, query, headers } = ctx;
  if (headers.authorization !== authorization) {
    fail(ctx, 401, 'UNAUTHENTICATED', 'the API key is not valid');
  } else if (path === '/v1/pets' && method === 'POST') {
    ctx.body = await store.insert(await bodyOf(ctx.req));
    ctx.status = 201;
  } else if (path === '/v1/pets') {
    const { limit = 20, status, after = 0 } = query;
    if (limit >= 1 && limit <= 100) {
      ctx.body = await store.list({ limit: Number(limit), status, after: Number(after) });
    } else fail(ctx, 400, 'INVALID_ARGUMENT', 'limit is wrong');
  } else {
    const pet = await store.get(Number(path.slice('/v1/pets/'.length)));
    if (pet === undefined) fail(ctx, 404, 'PET_NOT_FOUND', 'no such pet');
    else ctx.body = pet;
  }
});
app.listen(Number(process.env.PORT), '127.0.0.1');
