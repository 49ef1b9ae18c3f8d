// The same three storages for every peer, each used the way its documentation shows.
import { DatabaseSync } from 'node:sqlite';

/** `list`, `get` and `insert` return a value or a promise. */
export async function openStore(url) {
  if (url.startsWith('sqlite:')) return sqlite(url.slice('sqlite:'.length));
  if (url.startsWith('mongodb:')) return mongodb(url);
  return memory();
}

function memory() {
  const pets = [];
  return {
    list({ limit, status, after }) {
      const page = [];
      // Ids have no gaps here, so that an id is an index.
      for (let i = after; i < pets.length && page.length < limit; i++) {
        if (status === undefined || pets[i].status === status) page.push(pets[i]);
      }
      return page;
    },
    get: (id) => pets[id - 1],
    insert({ name, categoryId, status = 'available' }) {
      const pet = { id: pets.length + 1, name, categoryId, status };
      pets.push(pet);
      return pet;
    },
  };
}

function sqlite(path) {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS pets (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
      categoryId INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS by_status ON pets (status, id);`);
  const columns = 'id, name, categoryId, status';
  const page = db.prepare(`SELECT ${columns} FROM pets WHERE id > ? ORDER BY id LIMIT ?`);
  const filtered = db.prepare(`SELECT ${columns} FROM pets WHERE status = ? AND id > ? ORDER BY id LIMIT ?`);
  const one = db.prepare(`SELECT ${columns} FROM pets WHERE id = ?`);
  const add = db.prepare('INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)');
  return {
    list: ({ limit, status, after }) =>
      status === undefined ? page.all(after, limit) : filtered.all(status, after, limit),
    get: (id) => one.get(id),
    insert({ name, categoryId, status = 'available' }) {
      const { lastInsertRowid } = add.run(name, categoryId, status);
      return { id: Number(lastInsertRowid), name, categoryId, status };
    },
  };
}

async function mongodb(url) {
  const { MongoClient } = await import('mongodb');
  const concerns = { writeConcern: { w: 'majority', journal: true }, readConcern: { level: 'majority' } };
  const client = await new MongoClient(url, concerns).connect();
  const db = client.db();
  const pets = db.collection('pets');
  await pets.createIndex({ status: 1, _id: 1 }, undefined, {});
  const nextId = idsInBlocks(db.collection('counters'));
  const toPet = ({ _id, name, categoryId, status }) => ({ id: _id, name, categoryId, status });
  return {
    async list({ limit, status, after }) {
      const filter = status === undefined ? { _id: { $gt: after } } : { status, _id: { $gt: after } };
      const found = await pets.find(filter).sort({ _id: 1 }).limit(limit).toArray();
      return found.map(toPet);
    },
    async get(id) {
      const found = await pets.findOne({ _id: id });
      return found === null ? undefined : toPet(found);
    },
    async insert({ name, categoryId, status = 'available' }) {
      const _id = await nextId();
      await pets.insertOne({ _id, name, categoryId, status });
      return { id: _id, name, categoryId, status };
    },
  };
}

/** Ids from a counter document, a thousand at once: most inserts take one round trip. */
export function idsInBlocks(counters) {
  const block = { next: 1, last: 0 };
  let taking;
  const take = async () => {
    const { end } = await counters.findOneAndUpdate(
      { _id: 'pets' },
      { $inc: { end: 1000 } },
      { upsert: true, returnDocument: 'after' },
    );
    block.next = end - 999;
    block.last = end;
    taking = undefined;
  };
  return async () => {
    while (block.next > block.last) await (taking ??= take());
    return block.next++;
  };
}
