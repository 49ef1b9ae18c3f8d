/**
 * How long reads can miss an acknowledged pet, and how long a change of the primary delays them. Three mongod processes
 * on loopback (MONGOD_BIN, or see test/support/mongod-binary.ts), with MongoDB's default timeouts and with those of
 * deploy/mongodb.
 *
 *   node bench/stale-lists.ts [ROUNDS]       5 by default
 */
import { ConfirmedReads } from '../src/adapters/mongodb/confirmed-reads.ts';
import { connect } from '../src/adapters/mongodb/connection/connect.ts';
import { migrate } from '../src/adapters/mongodb/migrate.ts';
import { MongoPetRepository } from '../src/adapters/mongodb/pet-repository.ts';
import type { Member } from '../proof/failure/member.ts';
import { ReplicaSet } from '../proof/failure/replica-set.ts';
import { aPet } from '../test/support/pets.ts';

const ROUNDS = Number(process.argv[2] ?? 5);
const DATABASE = 'bench';
const rex = aPet();
/** Longer than an election, and than the service takes to notice. */
const WATCHED_MS = 15_000;

await using set = await ReplicaSet.start();
const url = set.url(DATABASE);
await migrate(url);
const client = await connect(url);
const pets = new MongoPetRepository(client.db(), new ConfirmedReads(client.db()));
await pets.insert(rex);

/** Milliseconds from the discovery of another primary to the first list. */
async function afterChangeMs(): Promise<number> {
  await set.whole();
  const { promise: discovered, resolve } = Promise.withResolvers<number>();
  const old = await set.primary();
  const onChange = (event: {
    newDescription: { servers: Map<string, { type: string; address: string }> };
  }) => {
    const primary = [...event.newDescription.servers.values()].find(({ type }) => type === 'RSPrimary');
    if (primary !== undefined && primary.address !== old.address) resolve(performance.now());
  };
  client.on('topologyDescriptionChanged', onChange);
  const [next] = await set.secondaries();
  await next?.admin({ replSetStepUp: 1 });
  const since = await discovered;
  client.off('topologyDescriptionChanged', onChange);
  await pets.list({ limit: 20 });
  return performance.now() - since;
}

/**
 * Milliseconds from the silence of a majority to the last list without proof. After it, lists demand proof of the primary,
 * or it has stepped down.
 */
async function unprovenMs(): Promise<number> {
  await set.whole();
  const watched = await connect(url, { monitorCommands: true });
  const repository = new MongoPetRepository(watched.db(), new ConfirmedReads(watched.db()), {
    timeoutMs: 1_000,
  });
  await repository.list({ limit: 20 });
  let demanded = false;
  watched.on(
    'commandStarted',
    ({ command }) => (demanded ||= command['readConcern']?.level === 'linearizable'),
  );
  const others = await set.secondaries();
  const since = performance.now();
  let lastMs = 0;
  for (const member of others) member.freeze();
  while (performance.now() - since < WATCHED_MS) {
    const found = await repository.list({ limit: 20 }).catch(() => undefined);
    if (found !== undefined && !demanded) lastMs = performance.now() - since;
  }
  for (const member of others) member.thaw();
  await watched.close();
  return lastMs;
}

/** Milliseconds for which a deposed primary that awakes gives stale lists to a service that reaches no other member. */
async function staleFromDeposedMs(): Promise<number> {
  await set.whole();
  const old = await set.primary();
  const alone = await connect(`mongodb://${old.address}/${DATABASE}?directConnection=true`);
  const repository = new MongoPetRepository(alone.db(), new ConfirmedReads(alone.db()), { timeoutMs: 1_000 });
  await repository.list({ limit: 100 });
  old.freeze();
  await set.primary();
  const elsewhere = await connect(urlWithout(old));
  const patient = new MongoPetRepository(elsewhere.db(), new ConfirmedReads(elsewhere.db()), {
    timeoutMs: 60_000,
  });
  const { id } = await patient.insert(rex);
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

async function setTimeouts(electionTimeoutMillis: number, heartbeatIntervalMillis: number): Promise<void> {
  const primary = await set.primary();
  const { config } = await primary.admin({ replSetGetConfig: 1 });
  const settings = { ...config.settings, electionTimeoutMillis, heartbeatIntervalMillis };
  await primary.admin({ replSetReconfig: { ...config, version: Number(config.version) + 1, settings } });
}

async function measure(what: string, once: () => Promise<number>): Promise<void> {
  const ms: number[] = [];
  for (let round = 0; round < ROUNDS; round++) ms.push(Math.round(await once()));
  console.log(`${what}: ${ms.join(', ')} ms`);
}

await measure('from the discovery of another primary to the first list', afterChangeMs);
for (const electionTimeoutMs of [10_000, 3_000]) {
  await setTimeouts(electionTimeoutMs, 2_000);
  console.log(`with an electionTimeoutMillis of ${electionTimeoutMs}:`);
  await measure('from the silence of a majority to the last list without proof', unprovenMs);
  await measure('from the awakening of a deposed primary to its last stale list', staleFromDeposedMs);
}
await client.close();
