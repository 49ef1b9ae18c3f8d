import { expect, it } from 'vitest';
import { startApi } from '../../support/http.ts';

it('two services in one process do not share their pets', async () => {
  await using one = await startApi();
  await using other = await startApi();
  expect((await one.post('{"name":"Rex","categoryId":7}')).status).toBe(201);
  expect(await other.get('/v1/pets')).toMatchObject({ status: 200, body: '[]' });
  expect(await one.get('/v1/pets')).not.toMatchObject({ body: '[]' });
});
