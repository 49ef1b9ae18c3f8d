/**
 * A replacement for mongosh, which needs 150 MB. It runs a script with the few globals that the scripts of
 * `deploy/mongodb` use. As in mongosh, a call waits for its result, and throws the error of the server: a worker sends
 * the command to the server, and the main thread waits.
 *
 *   node test/deploy/mongosh.ts URI SCRIPT
 */
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { isMainThread, MessageChannel, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { BSON, type Document, MongoClient, type MongoClientOptions } from 'mongodb';

/** Commands and replies pass between the threads as texts, because objects of BSON would arrive without their types. */
const { EJSON } = BSON;

type Call = { readonly database: string; readonly command: string };
type Login = { readonly auth: NonNullable<MongoClientOptions['auth']> };
type Outcome = { readonly reply: string } | { readonly message: string; readonly code: unknown };

if (isMainThread) {
  const [uri = '', script = ''] = process.argv.slice(2);
  const { port1: requests, port2 } = new MessageChannel();
  const isSettled = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { uri, port: port2, isSettled },
    transferList: [port2],
  });

  const ask = (request: Call | Login): Document => {
    Atomics.store(isSettled, 0, 0);
    requests.postMessage(request, []);
    Atomics.wait(isSettled, 0, 0);
    const outcome = receiveMessageOnPort(requests)?.message as Outcome;
    if ('reply' in outcome) return EJSON.parse(outcome.reply);
    throw Object.assign(new Error(outcome.message), { code: outcome.code });
  };
  const databaseOf = (database: string) => ({
    getSiblingDB: databaseOf,
    runCommand: (command: Document) => ask({ database, command: EJSON.stringify(command) }),
    auth: (username: string, password: string) => ask({ auth: { username, password } }),
  });
  const sleep = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const globals = { db: databaseOf('test'), print: console.log, sleep, process: { env: process.env } };
  try {
    runInNewContext(readFileSync(script, 'utf8'), globals, { filename: script });
  } finally {
    await worker.terminate();
  }
} else {
  const { uri, port, isSettled } = workerData;
  let client = new MongoClient(uri);
  const answer = async (request: Call | Login): Promise<Document> => {
    if ('command' in request) return client.db(request.database).command(EJSON.parse(request.command));
    await client.close();
    client = new MongoClient(uri, request);
    return client.db('admin').command({ ping: 1 });
  };
  port.on('message', async (request: Call | Login) => {
    const outcome: Outcome = await answer(request).then(
      (reply) => ({ reply: EJSON.stringify(reply) }),
      ({ message, code }) => ({ message, code }),
    );
    port.postMessage(outcome);
    Atomics.store(isSettled, 0, 1);
    Atomics.notify(isSettled, 0);
  });
}
