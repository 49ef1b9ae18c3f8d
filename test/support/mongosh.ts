/**
 * Stands in for mongosh, which is no small package: runs a script with the few globals that ours use. As in mongosh,
 * calls wait for their results and throw the server's errors.
 *
 *   node test/support/mongosh.ts URI SCRIPT
 */
import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { isMainThread, MessageChannel, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads';
import { type Document, MongoClient } from 'mongodb';

type Outcome = { readonly reply: Document } | { readonly message: string; readonly code: unknown };

if (isMainThread) {
  const [uri = '', script = ''] = process.argv.slice(2);
  const { port1: requests, port2 } = new MessageChannel();
  const settled = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { uri, port: port2, settled },
    transferList: [port2],
  });

  const call = (database: string, command: Document): Document => {
    Atomics.store(settled, 0, 0);
    requests.postMessage({ database, command }, []);
    Atomics.wait(settled, 0, 0);
    const outcome = receiveMessageOnPort(requests)?.message as Outcome;
    if ('reply' in outcome) return outcome.reply;
    throw Object.assign(new Error(outcome.message), { code: outcome.code });
  };
  const databaseOf = (name: string) => ({
    getSiblingDB: databaseOf,
    runCommand: (command: Document) => call(name, command),
  });
  const sleep = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const globals = { db: databaseOf('test'), print: console.log, sleep, process: { env: process.env } };
  try {
    runInNewContext(readFileSync(script, 'utf8'), globals, { filename: script });
  } finally {
    await worker.terminate();
  }
} else {
  const { uri, port, settled } = workerData;
  const client = new MongoClient(uri);
  port.on('message', async ({ database, command }: { database: string; command: Document }) => {
    const outcome: Outcome = await client
      .db(database)
      .command(command)
      .then(
        // Without the types of BSON, which another thread would get as plain objects.
        (reply) => ({ reply: JSON.parse(JSON.stringify(reply)) }),
        ({ message, code }) => ({ message, code }),
      );
    port.postMessage(outcome);
    Atomics.store(settled, 0, 1);
    Atomics.notify(settled, 0);
  });
}
