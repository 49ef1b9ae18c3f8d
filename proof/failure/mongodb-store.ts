import { TcpProxy } from '../../test/support/tcp-proxy.ts';
import type { ReplicaSet, ReplicaSetOptions } from './replica-set.ts';
import type { Scenario } from './scenario.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { type PetsByPlace, storedPet } from './stored-pet.ts';

export type MongoStore = { readonly set: ReplicaSet; readonly database: string };

export type MongoScenario = Scenario<MongoStore> & {
  /** The options of a replica set only for this scenario. Without them, scenarios share a replica set. */
  readonly replicaSet?: ReplicaSetOptions;
};

export function startServiceOn(stage: Stage, { set, database }: MongoStore): Promise<ServiceProcess> {
  return stage.startService({ DATABASE_URL: set.url(database), AUTO_MIGRATE: 'true', LOG_LEVEL: 'warn' });
}

/** Starts two services on one replica set. */
export async function startServicesOn(
  stage: Stage,
  store: MongoStore,
): Promise<readonly [ServiceProcess, ServiceProcess]> {
  return Promise.all([startServiceOn(stage, store), startServiceOn(stage, store)]);
}

/** Starts a service that reaches only the primary, and only through a proxy. So the driver cannot bypass the proxy. */
export async function startServiceThroughProxy(
  stage: Stage,
  { set, database }: MongoStore,
): Promise<{ readonly service: ServiceProcess; readonly proxy: TcpProxy }> {
  const proxy = await new TcpProxy({ host: '127.0.0.1', port: (await set.primary()).port }).listen();
  stage.resources.defer(() => proxy.close());
  const service = await stage.startService({
    DATABASE_URL: `mongodb://127.0.0.1:${proxy.port}/${database}?directConnection=true`,
    AUTO_MIGRATE: 'true',
  });
  return { service, proxy };
}

/** Reads from each member the pets that no rollback can remove. A document with `upTo` reserves ids, and is no pet. */
export async function surveyMembers({ set, database }: MongoStore): Promise<PetsByPlace> {
  const documents = await set.read(database, 'pets');
  return new Map(
    [...documents].map(([member, pets]) => [
      member,
      pets
        .filter(({ upTo }) => upTo === undefined)
        .map(({ _id, name, categoryId, status }) => storedPet({ id: _id, name, categoryId, status })),
    ]),
  );
}
