// Express as most people write it; with Mongoose on MongoDB.
/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 awaits handlers. */
import express from 'express';
import { idsInBlocks, openStore } from './store.js';

const { API_KEYS, DATABASE_URL, PORT } = process.env;
const store = DATABASE_URL.startsWith('mongodb:')
  ? await openMongoose(DATABASE_URL)
  : await openStore(DATABASE_URL);
const app = express();

app.use((request, response, next) => {
  if (request.get('Authorization') === `Bearer ${API_KEYS}`) next();
  else
    response.status(401).json({ code: 'UNAUTHENTICATED', message: 'the API key is not valid', status: 401 });
});
app.use(express.json());
app.get('/v1/pets', async (request, response) => {
  const { limit = 20, status, after = 0 } = request.query;
  if (!(limit >= 1 && limit <= 100)) {
    response.status(400).json({ code: 'INVALID_ARGUMENT', message: 'limit is wrong', status: 400 });
    return;
  }
  response.json(await store.list({ limit: Number(limit), status, after: Number(after) }));
});
app.post('/v1/pets', async (request, response) => {
  response.status(201).json(await store.insert(request.body));
});
app.get('/v1/pets/:petId', async (request, response) => {
  const pet = await store.get(Number(request.params.petId));
  if (pet === undefined)
    response.status(404).json({ code: 'PET_NOT_FOUND', message: 'no such pet', status: 404 });
  else response.json(pet);
});
app.listen(Number(PORT), '127.0.0.1');

async function openMongoose(url) {
  const { default: mongoose } = await import('mongoose');
  await mongoose.connect(url, { writeConcern: { w: 'majority', journal: true } });
  const schema = new mongoose.Schema(
    {
      _id: Number,
      name: { type: String, required: true, minlength: 1, maxlength: 255 },
      categoryId: { type: Number, required: true },
      status: { type: String, enum: ['available', 'pending', 'sold'], default: 'available' },
    },
    { versionKey: false },
  );
  schema.index({ status: 1, _id: 1 });
  const Pet = mongoose.model('Pet', schema);
  await Pet.init();
  const nextId = idsInBlocks(mongoose.connection.collection('counters'));
  const toPet = ({ _id, name, categoryId, status }) => ({ id: _id, name, categoryId, status });
  return {
    async list({ limit, status, after }) {
      const filter = { _id: { $gt: after }, ...(status !== undefined && { status }) };
      const found = await Pet.find(filter).sort({ _id: 1 }).limit(limit).lean();
      return found.map(toPet);
    },
    async get(id) {
      const found = await Pet.findById(id).lean();
      return found === null ? undefined : toPet(found);
    },
    async insert(draft) {
      return toPet(await Pet.create({ ...draft, _id: await nextId() }));
    },
  };
}
