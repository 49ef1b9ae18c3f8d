import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { KEY } from '../../../support/client.ts';
import { petBody } from '../../../support/pets.ts';
import { runService, stop } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { PEM_FILES, ROOT_CERT } from '../../../support/tls/pem-files.ts';
import { create, list, LIVEZ, SCRIPT } from '../raw-requests.ts';

const LIST = list('?limit=100');

/** What the process has in memory, in MiB. */
async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Fetches the script of the page, and leaves the connection open. */
async function fetchScript(port: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, ca: ROOT_CERT });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(SCRIPT);
  let left = 1_000_000;
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    left -= (bytes as Buffer).length;
    if (left <= 0) break;
  }
  socket.resume();
}

test('idle connections free the memory of a long answer, and clients that never read do not fill a small heap', async ({
  skip,
}) => {
  if (process.platform !== 'linux') skip('only Linux has /proc');
  const NODE_OPTIONS = '--max-old-space-size=256';
  const service = runService({
    NODE_OPTIONS,
    API_KEYS: KEY,
    TLS_CERT: PEM_FILES.cert,
    TLS_KEY: PEM_FILES.key,
  });
  const port = Number(new URL(await service.url()).port);
  for (let i = 0; i < 10; i++) await fetchScript(port);
  const before = await residentMib(service.pid);
  for (let i = 0; i < 40; i++) await fetchScript(port);
  // Without portions, each keeps 1.8 MB.
  expect((await residentMib(service.pid)) - before).toBeLessThan(40);

  const other = await RawConnection.open(port, { tls: true });
  const body = petBody({ name: `"${'🐕'.repeat(255)}"` });
  for (let i = 0; i < 100; i++) {
    await other.send(create(body));
    expect((await other.answer()).status).toBe(201);
  }
  const greedy = await Promise.all(Array.from({ length: 60 }, () => RawConnection.open(port, { tls: true })));
  for (const connection of greedy) connection.pause();
  await Promise.all(greedy.map((connection) => connection.send(LIST.repeat(199))));
  for (let i = 0; i < 30; i++) {
    await other.send(LIVEZ);
    expect((await other.answer()).status).toBe(200);
  }
  for (const connection of [other, ...greedy]) connection.close();
  await stop(service);
});
