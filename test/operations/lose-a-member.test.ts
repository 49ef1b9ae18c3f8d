import { runInNewContext } from 'node:vm';
import type { MongoClient } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { ReplicaSet } from '../../proof/failure/replica-set.ts';
import { AUTHORIZATION, ServiceProcess } from '../../proof/failure/service-process.ts';
import { until } from '../../proof/failure/until.ts';
import { sharedMongo } from '../support/mongodb.ts';
import { bash, blockOf, installation } from './page.ts';

/**
 * Runs a block of JavaScript that the page has for the MongoDB shell (mongosh). `db` has the only method of the
 * shell that the blocks call. If the block is an expression, its value is returned.
 */
async function runInMongosh(client: MongoClient, block: string): Promise<unknown> {
  const db = { adminCommand: (command: object) => client.db('admin').command(command) };
  const statements = block.startsWith('const ') ? block : `return ${block}`;
  return runInNewContext(`(async () => { ${statements} })()`, { db });
}

// The code blocks of docs/how-to/lose-a-member-or-the-machine.md.
const SHOW_STATES = blockOf('One member is gone', 0, 'js');
const MAKE_SINGLE = blockOf('Two members are lost for good', 0, 'js');
const SKIP_IDS = blockOf('Two members are lost for good');

// The test kills and restarts members, so it needs a mongod program. A server in a container is not enough.
const hasNoMongod = (await sharedMongo())?.kind !== 'process';

it.skipIf(hasNoMongod)(
  `a service adds pets after one member fails, after a second failed member is back, and after two are lost for good${hasNoMongod ? ' (left out: no mongod process)' : ''}`,
  async () => {
    const set = await ReplicaSet.start();
    onTestFinished(() => set[Symbol.asyncDispose]());
    const url = set.url('petstore');
    await migrate(url);
    const service = await ServiceProcess.start({ DATABASE_URL: url });
    onTestFinished(() => service.kill());
    const add = async (name: string) => {
      const headers = { ...AUTHORIZATION, 'content-type': 'application/json', 'idempotency-key': name };
      const body = JSON.stringify({ name, categoryId: 7 });
      // A client repeats a request that is answered with 503.
      return until(`an answer of 201 for ${name}`, async () => {
        const response = await fetch(`${service.url}/v1/pets`, { method: 'POST', headers, body });
        const { id } = (await response.json()) as { id: number };
        return response.status === 201 && id;
      });
    };
    const readyStatus = async () => (await fetch(`${service.url}/readyz`)).status;
    const states = async (client: MongoClient) => {
      const lines = (await runInMongosh(client, SHOW_STATES)) as readonly string[];
      return Array.from(lines, (line) => line.split(' ')[1]).join();
    };

    // The test kills secondaries, and never the primary. In the first minute of a replica set, its secondaries may
    // refuse to replicate from each other ("too stale to use candidate as a sync source"). Without the primary, no write
    // would then be confirmed. The failure suite kills primaries.
    const primary = await set.primary();
    const [first, second] = await set.secondaries();
    await first!.kill();
    await add('Rex');

    await second!.kill();
    await until('a service that is not ready', async () => (await readyStatus()) === 503);
    await second!.start();
    const primaryAndSecondary = /PRIMARY.*SECONDARY|SECONDARY.*PRIMARY/;
    await until('two running members', async () => primaryAndSecondary.test(await states(primary.client)));
    const id = await add('Mitzi');

    await second!.kill();
    await until('a service that is not ready', async () => (await readyStatus()) === 503);
    // The service is killed, because an orderly stop would wait for MongoDB.
    await service.kill();
    await runInMongosh(primary.client, MAKE_SINGLE);
    const skipping = bash(SKIP_IDS, { MONGODB_URL: url }, await installation());
    expect(await skipping.ended, skipping.stderr).toMatchObject({ code: 0 });
    await service.start();

    // `petstore skip-ids` has skipped 10^12 ids.
    expect(await add('Lora')).toBe(id + 1e12 + 1);
    expect(await states(primary.client)).toBe('PRIMARY');
    const pets = await fetch(`${service.url}/v1/pets`, { headers: AUTHORIZATION });
    const names = ((await pets.json()) as { name: string }[]).map(({ name }) => name);
    expect(names).toStrictEqual(['Rex', 'Mitzi', 'Lora']);
    expect(await readyStatus()).toBe(200);
  },
);
