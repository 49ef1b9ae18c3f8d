import { expect, test } from 'vitest';
import { run, SERVICE, SERVICE_ENV, stop } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { LIVEZ } from '../raw-requests.ts';

// Above the limit, libuv (the I/O library of Node) accepts a connection and closes it immediately. Node does not notice
// this.
test('a service without a free file descriptor serves its open connections, and accepts new connections after others close', async () => {
  const args = ['-c', 'ulimit -n 60; exec "$0" "$@"', process.execPath, ...SERVICE];
  const service = run('sh', args, { ...SERVICE_ENV, API_KEYS: 'a-key-of-the-tests' });
  const port = Number(new URL(await service.url()).port);
  const firstConnection = await RawConnection.open(port);
  await firstConnection.send(LIVEZ);
  expect((await firstConnection.answer()).status).toBe(200);

  const otherConnections: RawConnection[] = [];
  for (let i = 0; i < 60; i++) otherConnections.push(await RawConnection.open(port));
  await otherConnections.at(-1)?.closed();
  await firstConnection.send(LIVEZ);
  expect((await firstConnection.answer()).status).toBe(200);
  // Building the document on its first request needs no descriptor.
  await firstConnection.send(LIVEZ.replace('/livez', '/openapi.json'));
  expect((await firstConnection.answer()).status).toBe(200);

  for (const connection of otherConnections) connection.close();
  const requestOnNewConnection = async () => {
    const connection = await RawConnection.open(port);
    await connection.send(LIVEZ);
    const answer = await connection.answer();
    connection.close();
    return answer.status;
  };
  await expect.poll(() => requestOnNewConnection().catch(() => undefined)).toBe(200);
  firstConnection.close();
  await stop(service);
});
