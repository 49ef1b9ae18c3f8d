import { expect, it } from 'vitest';
import { ask, KEY } from '../../support/client.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { startService } from '../../support/service.ts';
import { mongo } from '../../support/shared-mongo.ts';

it.skipIf(mongo === undefined)(
  'a unique index that an operator adds to the pets is a 503, and one line of the log that names it and no pet',
  async () => {
    const { url, pets } = await freshDatabase(mongo!);
    const service = await startService({ DATABASE_URL: url });
    const add = (name = 'Mitzi') =>
      ask(`${service.url}/v1/pets`, { key: KEY, body: JSON.stringify({ name, categoryId: 7 }) });
    expect(await add()).toMatchObject({ status: 201 });
    await pets.createIndex({ name: 1 }, { unique: true }, {});

    const { status, body } = await add();
    expect(await ask(`${service.url}/readyz`)).toMatchObject({ status: 200 });
    expect(await add('Tom')).toMatchObject({ status: 201 });
    await service.stop();
    expect(status).toBe(503);
    expect(JSON.parse(body)).toMatchObject({ code: 'UNAVAILABLE' });
    expect(service.log.filter(({ level }) => Number(level) > 30)).toMatchObject([
      {
        msg: 'failure',
        err: { message: expect.stringMatching(/^the unique index "name_1" .*dropIndex\("name_1"\)$/) },
      },
    ]);
    expect(JSON.stringify(service.log)).not.toContain('Mitzi');
  },
);
