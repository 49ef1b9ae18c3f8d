import { expect, test } from 'vitest';
import { run, SERVICE, SERVICE_ENV, stop } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ } from '../raw-requests.ts';

// libuv accepts a connection beyond the limit and closes it at once, without telling Node.
test('a service without a free file descriptor serves its open connections, and accepts again when others close', async () => {
  const args = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, ...SERVICE];
  const service = run('sh', args, { ...SERVICE_ENV, API_KEYS: 'a-key-of-the-tests' });
  const port = Number(new URL(await service.url()).port);
  const first = await RawConnection.open(port);
  await first.send(LIVEZ);
  expect((await first.answer()).status).toBe(200);

  const others: RawConnection[] = [];
  for (let i = 0; i < 60; i++) others.push(await RawConnection.open(port));
  await others.at(-1)?.closed();
  await first.send(LIVEZ);
  expect((await first.answer()).status).toBe(200);
  // Building the document on its first request needs no descriptor.
  await first.send(LIVEZ.replace('/livez', '/openapi.json'));
  expect((await first.answer()).status).toBe(200);

  for (const connection of others) connection.close();
  const ask = async () => {
    const late = await RawConnection.open(port);
    await late.send(LIVEZ);
    const answer = await late.answer();
    late.close();
    return answer.status;
  };
  await expect.poll(() => ask().catch(() => undefined)).toBe(200);
  first.close();
  await stop(service);
});
