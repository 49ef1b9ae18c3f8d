/**
 * What is left where reads can miss an acknowledged pet, and what a change of the primary costs them. Three mongod
 * processes on loopback (MONGOD_BIN, or see test/support/mongod-binary.ts), with the timeouts of MongoDB's defaults.
 *
 *   node bench/stale-lists.ts [ROUNDS]       5 by default
 */
import { ConfirmedReads } from '../src/adapters/mongodb/confirmed-reads.ts';
import { connect } from '../src/adapters/mongodb/connection/connect.ts';
import { migrate } from '../src/adapters/mongodb/migrate.ts';
import { MongoPetRepository } from '../src/adapters/mongodb/pet-repository.ts';
import { newPet } from '../src/domain/pet.ts';
import type { Member } from '../test/failure/member.ts';
import { ReplicaSet } from '../test/failure/replica-set.ts';
import { until } from '../test/failure/until.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const DATABASE = 'bench';
const rex = newPet({ name: 'Rex', categoryId: 7n });
const PATIENCE = { withinMs: 60_000, everyMs: 1 };

await using set = await ReplicaSet.start();
const url = set.url(DATABASE);
await migrate(url);
const client = await connect(url);
const pets = new MongoPetRepository(client.db(), new ConfirmedReads(client.db()));
await pets.insert(rex);

/** From the news of another primary to the first list, in milliseconds. */
async function afterChange(): Promise<number> {
  await set.whole();
  const { promise: news, resolve } = Promise.withResolvers<number>();
  const old = await set.primary();
  const heard = (event: { newDescription: { servers: Map<string, { type: string; address: string }> } }) => {
    const primary = [...event.newDescription.servers.values()].find(({ type }) => type === 'RSPrimary');
    if (primary !== undefined && primary.address !== old.address) resolve(performance.now());
  };
  client.on('topologyDescriptionChanged', heard);
  const [next] = await set.secondaries();
  await next?.admin({ replSetStepUp: 1 });
  const since = await news;
  client.off('topologyDescriptionChanged', heard);
  await pets.list({ limit: 20 });
  return performance.now() - since;
}

/** From the silence of most members to the first list that is no longer believed without a proof. */
async function untilDoubt(): Promise<number> {
  await set.whole();
  const watched = await connect(url, { monitorCommands: true });
  const repository = new MongoPetRepository(watched.db(), new ConfirmedReads(watched.db()), 1_000);
  await repository.list({ limit: 20 });
  let doubted = false;
  watched.on(
    'commandStarted',
    ({ command }) => (doubted ||= command['readConcern']?.level === 'linearizable'),
  );
  const others = await set.secondaries();
  const since = performance.now();
  for (const member of others) member.freeze();
  await until(
    'a doubt',
    async () => {
      await repository.list({ limit: 20 }).catch(() => undefined);
      return doubted ? true : undefined;
    },
    PATIENCE,
  );
  const ms = performance.now() - since;
  for (const member of others) member.thaw();
  await watched.close();
  return ms;
}

/** How long a deposed primary that wakes up gives lists without the newest pet to a service that sees it alone. */
async function fromDeposed(): Promise<number> {
  await set.whole();
  const old = await set.primary();
  const alone = await connect(`mongodb://${old.address}/${DATABASE}?directConnection=true`);
  const repository = new MongoPetRepository(alone.db(), new ConfirmedReads(alone.db()), 1_000);
  await repository.list({ limit: 100 });
  old.freeze();
  await set.primary();
  const elsewhere = await connect(urlWithout(old));
  const { id } = await new MongoPetRepository(
    elsewhere.db(),
    new ConfirmedReads(elsewhere.db()),
    60_000,
  ).insert(rex);
  let lastStale = 0;
  old.thaw();
  const since = performance.now();
  while (performance.now() - since < 3_000) {
    const list = await repository.list({ limit: 100, after: id - 1n }).catch(() => undefined);
    if (list?.length === 0) lastStale = performance.now() - since;
  }
  await alone.close();
  await elsewhere.close();
  return lastStale;
}

function urlWithout(member: Member): string {
  const others = set.members.filter((other) => other !== member).map(({ address }) => address);
  return set.url(DATABASE).replace(/\/\/[^/]+/, `//${others.join(',')}`);
}

async function timeouts(electionTimeoutMillis: number, heartbeatIntervalMillis: number): Promise<void> {
  const primary = await set.primary();
  const { config } = await primary.admin({ replSetGetConfig: 1 });
  const settings = { ...config.settings, electionTimeoutMillis, heartbeatIntervalMillis };
  await primary.admin({ replSetReconfig: { ...config, version: Number(config.version) + 1, settings } });
}

async function measure(what: string, once: () => Promise<number>): Promise<void> {
  const figures: number[] = [];
  for (let round = 0; round < ROUNDS; round++) figures.push(Math.round(await once()));
  console.log(`${what}: ${figures.join(', ')} ms`);
}

await measure('from the news of another primary to the first list', afterChange);
await timeouts(10_000, 2_000);
await measure('from the silence of most members to doubt', untilDoubt);
await measure('the last stale list from a deposed primary, after it woke up', fromDeposed);
await client.close();
