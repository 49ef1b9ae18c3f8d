import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { KEY } from '../support/client.ts';
import { freshDatabase } from '../support/mongo-database.ts';
import { numbers } from '../support/numbers.ts';
import { type Program, ROOT, stop } from '../support/process.ts';
import { leftOut, mongo } from '../support/shared-mongo.ts';
import { nextBuild, runBuild } from './next-build.ts';

const SERVICES = numbers(4);
const CLIENTS = numbers(6);

/** How many pets are acknowledged while both builds serve. */
const SIDE_BY_SIDE = 40;

/** Clients behind a balancer. They retry nothing, and each answer must be the expected one. */
class Load {
  /** Where requests go: to each in turn. */
  urls: readonly string[] = [];
  /** The JSON of each acknowledged pet. */
  readonly pets: string[] = [];
  readonly failures: string[] = [];
  #turn = 0;
  #isStopping = false;
  #clients: Promise<unknown> | undefined;

  start(): void {
    this.#clients = Promise.all(CLIENTS.map((client) => this.#run(client)));
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#clients;
  }

  /** Sends a request to the next service. */
  async ask(path: string, { method = 'GET', key, body }: Ask = {}): Promise<string> {
    const url = this.urls[this.#turn++ % this.urls.length]!;
    const headers = {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      ...(key !== undefined && { 'idempotency-key': key }),
    };
    try {
      const response = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
      const text = await response.text();
      if (!response.ok) this.failures.push(`${method} ${url}${path}: ${response.status} ${text}`);
      return text;
    } catch (error) {
      this.failures.push(`${method} ${url}${path}: ${String(error)}`);
      return '';
    }
  }

  /** Adds pets. Then every service must give each of them, as the answer to a retry and to a read. */
  async #run(client: number): Promise<void> {
    for (let number = 1; !this.#isStopping; number++) {
      const key = `${client}-${number}`;
      const fields = `"name":"${key}","categoryId":${client},"status":"pending"}`;
      const create = { method: 'POST', key, body: `{${fields}` };
      const pet = await this.ask('/v1/pets', create);
      const id = Number(/^\{"id":(\d+),/.exec(pet)?.[1]);
      const shown = [pet];
      for (const _ of this.urls) {
        shown.push(await this.ask('/v1/pets', create), await this.ask(`/v1/pets/${id}`));
        await this.ask('/v1/pets?limit=5&status=pending');
      }
      const wrong = shown.find((answer) => answer !== `{"id":${id},${fields}`);
      if (wrong !== undefined) this.failures.push(`answered ${wrong} for ${key}`);
      this.pets.push(pet);
      await sleep(10);
    }
  }
}

type Ask = { readonly method?: string; readonly key?: string; readonly body?: string };

it.skipIf(mongo === undefined)(
  `services on MongoDB are upgraded and put back one by one under load, and no request fails${leftOut}`,
  { timeout: 180_000 },
  async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    const [next, load] = [await nextBuild(), new Load()];
    const migrate = (build: string) => runBuild(build, ['migrate', DATABASE_URL]).succeeded();
    const running: { readonly service: Program; readonly url: string }[] = [];
    /** Starts a service, and stops the oldest one when no request goes to it any more. */
    const replaceBy = async (build: string, { starting = false } = {}) => {
      const service = runBuild(build, ['serve'], { DATABASE_URL, API_KEYS: KEY });
      running.push({ service, url: await service.url() });
      const oldest = starting ? undefined : running.shift();
      load.urls = running.map(({ url }) => url);
      if (oldest !== undefined) await stop(oldest.service);
    };
    const acknowledges = async (count: number) => {
      const enough = load.pets.length + count;
      await expect.poll(() => load.pets.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(enough);
    };
    const replaceAllBy = async (build: string) => {
      for (const index of SERVICES) {
        await replaceBy(build);
        // There is no hurry: both builds serve for as long as the operator likes.
        if (index === SERVICES.length / 2) await acknowledges(SIDE_BY_SIDE);
      }
    };
    await migrate(ROOT);
    await Promise.all(SERVICES.map(() => replaceBy(ROOT, { starting: true })));
    load.start();
    await acknowledges(SIDE_BY_SIDE);

    const database = `the database "${db.databaseName}" has schema version 4 (as before)`;
    expect(await migrate(next)).toBe(`${database}, step 1 (before: 0)\n`);
    // An old service can still be started.
    await replaceBy(ROOT);
    await replaceAllBy(next);
    const nickname = { method: 'POST', body: '{"name":"Rex","categoryId":7,"nickname":"Rexy"}' };
    const [, id, rex] =
      /^\{"id":(\d+),(.*),"nickname":"Rexy"\}$/.exec(await load.ask('/v1/pets', nickname)) ?? [];
    await replaceAllBy(ROOT);
    expect(await load.ask(`/v1/pets/${id}`)).toBe(`{"id":${id},${rex}}`);
    expect(await migrate(ROOT)).toBe(
      `${database}, a later build has made or begun step 1, and nothing was changed\n`,
    );
    await load.stop();

    expect(load.failures).toStrictEqual([]);
    const file = await runBuild(ROOT, ['export', '-', '--from', DATABASE_URL]).succeeded();
    const exported = file.match(/^\{"id":.*$/gm) ?? [];
    expect(exported).toHaveLength(load.pets.length + 1);
    for (const build of [ROOT, next]) {
      expect(await runBuild(build, ['check', '--from', DATABASE_URL]).succeeded()).toContain('checked');
    }
  },
);
