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

/** The resident memory of the process, in MiB. */
async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

/** Fetches the script of the page at /docs (more than 1 MB), and leaves the connection open. */
async function fetchScript(port: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port, ca: ROOT_CERT });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.write(SCRIPT);
  let missingBytes = 1_000_000;
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    missingBytes -= (bytes as Buffer).length;
    if (missingBytes <= 0) break;
  }
  socket.resume();
}

test('a connection frees the memory of a long answer when it becomes idle, and clients that never read do not fill a small heap', async ({
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
  const memoryBefore = await residentMib(service.pid);
  for (let i = 0; i < 40; i++) await fetchScript(port);
  // The service writes an answer in portions of 16 KiB. Without portions, each of the 40 connections would keep 1.8 MB.
  expect((await residentMib(service.pid)) - memoryBefore).toBeLessThan(40);

  const usualClient = await RawConnection.open(port, { tls: true });
  const body = petBody({ name: `"${'🐕'.repeat(255)}"` });
  for (let i = 0; i < 100; i++) {
    await usualClient.send(create(body));
    expect((await usualClient.answer()).status).toBe(201);
  }
  const clients = await Promise.all(
    Array.from({ length: 60 }, () => RawConnection.open(port, { tls: true })),
  );
  for (const connection of clients) connection.pause();
  await Promise.all(clients.map((connection) => connection.send(LIST.repeat(199))));
  for (let i = 0; i < 30; i++) {
    await usualClient.send(LIVEZ);
    expect((await usualClient.answer()).status).toBe(200);
  }
  for (const connection of [usualClient, ...clients]) connection.close();
  await stop(service);
});
