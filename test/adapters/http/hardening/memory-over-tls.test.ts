import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { KEY } from '../../../support/client.ts';
import { petBody } from '../../../support/pets.ts';
import { runService, stop } from '../../../support/process.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { PEM_FILES, ROOT_CERT } from '../../../support/tls/pem-files.ts';
import { create, list, LIVEZ, SCRIPT } from '../raw-requests.ts';

const LIST_REQUEST = list('?limit=100');

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

test('an idle connection keeps no memory of a long answer, and a heap of 256 MiB is enough for 60 clients that never read', async ({
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
  // The 40 connections may keep 40 MiB. The service writes each answer in portions of 16 KiB, because a TLS connection
  // keeps the memory of its largest write. If the answer were one write, each connection would keep 1.8 MB.
  expect((await residentMib(service.pid)) - memoryBefore).toBeLessThan(40);

  const readingClient = await RawConnection.open(port, { tls: true });
  const body = petBody({ name: `"${'🐕'.repeat(255)}"` });
  for (let i = 0; i < 100; i++) {
    await readingClient.send(create(body));
    expect((await readingClient.answer()).status).toBe(201);
  }
  const pausedClients = await Promise.all(
    Array.from({ length: 60 }, () => RawConnection.open(port, { tls: true })),
  );
  for (const connection of pausedClients) connection.pause();
  // Each client asks for 199 pages of about 100 KB.
  await Promise.all(pausedClients.map((connection) => connection.send(LIST_REQUEST.repeat(199))));
  for (let i = 0; i < 30; i++) {
    await readingClient.send(LIVEZ);
    expect((await readingClient.answer()).status).toBe(200);
  }
  for (const connection of [readingClient, ...pausedClients]) connection.close();
  await stop(service);
});
