import type { Collection, Document } from 'mongodb';
import type { Member } from './member.ts';
import type { ReplicaSet } from './replica-set.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import type { Places, StoredPet } from './verdict.ts';

export type MongoStore = { readonly set: ReplicaSet; readonly database: string };

export function serviceOn(stage: Stage, { set, database }: MongoStore): Promise<ServiceProcess> {
  return stage.service({ DATABASE_URL: set.url(database), AUTO_MIGRATE: 'true' });
}

export function counterOf({ client }: Member, database: string): Collection<{ _id: string }> {
  return client.db(database).collection<{ _id: string }>('counters');
}

/** What each member has, beyond any rollback. */
export async function surveyMembers({ set, database }: MongoStore): Promise<Places> {
  const documents = await set.read(database, 'pets');
  return new Map([...documents].map(([member, pets]) => [member, pets.map(storedPet)]));
}

/** In the bytes in which the service must show it. Written here once more, so that the service cannot be its own judge. */
function storedPet({ _id, name, categoryId, status }: Document): StoredPet {
  return {
    name,
    json: `{"id":${_id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`,
  };
}
