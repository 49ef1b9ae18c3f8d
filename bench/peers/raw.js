// The job by hand: node:http, the storage library, and nothing else.
import { createServer } from 'node:http';
import { openStore } from './store.js';

const store = await openStore(process.env.DATABASE_URL);
const authorization = `Bearer ${process.env.API_KEYS}`;
const STATUSES = new Set(['available', 'pending', 'sold']);

function send(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}

const fail = (response, status, code, message) => send(response, status, { code, message, status });

async function list(response, query) {
  const parameters = new URLSearchParams(query);
  const limit = Number(parameters.get('limit') ?? 20);
  const status = parameters.get('status') ?? undefined;
  const after = Number(parameters.get('after') ?? 0);
  if (!(limit >= 1 && limit <= 100) || (status !== undefined && !STATUSES.has(status))) {
    fail(response, 400, 'INVALID_ARGUMENT', 'limit or status is wrong');
    return;
  }
  const pets = store.list({ limit, status, after });
  send(response, 200, pets instanceof Promise ? await pets : pets);
}

async function get(response, id) {
  const found = store.get(Number(id));
  const pet = found instanceof Promise ? await found : found;
  if (pet === undefined) fail(response, 404, 'PET_NOT_FOUND', `no pet has the id ${id}`);
  else send(response, 200, pet);
}

async function create(response, text) {
  const draft = JSON.parse(text);
  if (typeof draft.name !== 'string' || !Number.isInteger(draft.categoryId)) {
    fail(response, 400, 'INVALID_ARGUMENT', 'name or categoryId is wrong');
    return;
  }
  const pet = store.insert(draft);
  send(response, 201, pet instanceof Promise ? await pet : pet);
}

const server = createServer((request, response) => {
  const { url, method, headers } = request;
  if (headers.authorization !== authorization) {
    fail(response, 401, 'UNAUTHENTICATED', 'the API key is not valid');
    return;
  }
  const [path, query = ''] = url.split('?');
  if (method === 'POST' && path === '/v1/pets') {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => void create(response, text));
  } else if (path === '/v1/pets') void list(response, query);
  else if (path.startsWith('/v1/pets/')) void get(response, path.slice('/v1/pets/'.length));
  else fail(response, 404, 'ROUTE_NOT_FOUND', 'there is nothing at this path');
});
server.listen(Number(process.env.PORT), '127.0.0.1');
