import { expect, it, onTestFinished } from 'vitest';
import { ReplicaSet } from '../../proof/failure/replica-set.ts';
import { ask, KEY } from '../support/client.ts';
import { numbers } from '../support/numbers.ts';
import { type Program, ROOT, stop } from '../support/process.ts';
import { mongo } from '../support/shared-mongo.ts';
import { nextBuild, runBuild } from './next-build.ts';

/** Clients behind a load balancer. The clients do not repeat a failed request. */
class Load {
  /** The services. Each request goes to the next one. */
  urls: readonly string[] = [];
  acknowledged = 0;
  isOver = false;
  #turn = 0;

  get url(): string {
    return `${this.urls[this.#turn++ % this.urls.length]}/v1/pets`;
  }

  /**
   * Adds pets until `isOver`. Every service must then return each pet, both to a repeated create request and to a read.
   */
  async run(client: number): Promise<void> {
    for (let number = 1; !this.isOver; number++) {
      const fields = `"name":"Rex ${number}","categoryId":${client},"status":"pending"}`;
      const create = { body: `{${fields}`, headers: { 'idempotency-key': `${client}-${number}` } };
      const answers = [await ask(this.url, create)];
      this.acknowledged++;
      const [, id] = /^\{"id":(\d+),/.exec(answers[0]!.body) ?? [];
      for (const _ of this.urls) {
        answers.push(await ask(this.url, create), await ask(`${this.url}/${id}`));
        const { status, body } = await ask(`${this.url}?limit=5&status=pending`);
        if (status !== 200) throw new Error(body);
      }
      const wrong = answers.find(({ body }) => body !== `{"id":${id},${fields}`);
      if (wrong !== undefined) throw new Error(`for ${fields}: ${wrong.status} ${wrong.body}`);
    }
  }
}

const noProcess = mongo?.kind !== 'process';

it.skipIf(noProcess)(
  `services on three members of MongoDB are upgraded and downgraded one by one under load, and no request fails${noProcess ? ' (left out: no mongod process)' : ''}`,
  { timeout: 180_000 },
  async () => {
    const set = await ReplicaSet.start();
    onTestFinished(() => set[Symbol.asyncDispose]());
    const DATABASE_URL = set.url('petstore');
    const [next, load] = [await nextBuild(), new Load()];
    const petstore = (build: string, ...args: readonly string[]) =>
      runBuild(build, args, { DATABASE_URL, API_KEYS: KEY });
    const running: { readonly service: Program; readonly url: string }[] = [];
    /** Starts a service. If five are running then, the oldest one gets no more requests and is stopped. */
    const start = async (build: string) => {
      const service = petstore(build);
      running.push({ service, url: await service.url() });
      const oldest = running.length > 4 ? running.shift() : undefined;
      load.urls = running.map(({ url }) => url);
      if (oldest !== undefined) await stop(oldest.service);
    };
    const acknowledgeMore = async (count: number) => {
      const enough = load.acknowledged + count;
      await expect.poll(() => load.acknowledged, { timeout: 60_000 }).toBeGreaterThanOrEqual(enough);
    };
    const replaceAllBy = async (build: string) => {
      for (const _ of numbers(2)) await start(build);
      // Both builds can serve at the same time for as long as the operator likes.
      await acknowledgeMore(20);
      for (const _ of numbers(2)) await start(build);
    };
    await petstore(ROOT, 'migrate').succeeded();
    await Promise.all(numbers(4).map(() => start(ROOT)));
    const outcomes = Promise.allSettled(numbers(4).map((client) => load.run(client)));
    await acknowledgeMore(10);

    const database = 'the database "petstore" has schema version 4 (as before)';
    const migrated = await petstore(next, 'migrate').succeeded();
    expect(migrated).toBe(`${database}, step 1 (before: 0)\n`);
    // A service of the earlier build can still be started.
    await start(ROOT);
    await replaceAllBy(next);
    const { body } = await ask(load.url, { body: '{"name":"Rex","categoryId":7,"nickname":"Rexy"}' });
    const [, id, rex] = /^\{"id":(\d+),(.*),"nickname":"Rexy"\}$/.exec(body) ?? [];
    await replaceAllBy(ROOT);
    expect((await ask(`${load.url}/${id}`)).body).toBe(`{"id":${id},${rex}}`);
    const note = 'a later build has made or begun step 1, and nothing was changed';
    expect(await petstore(ROOT, 'migrate').succeeded()).toBe(`${database}, ${note}\n`);
    load.isOver = true;

    for (const outcome of await outcomes)
      expect(outcome).toStrictEqual({ status: 'fulfilled', value: undefined });
    expect(await petstore(ROOT, 'check').succeeded()).toContain(`checked ${load.acknowledged + 1} pets `);
  },
);
