import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { KEY } from '../../../support/client.ts';
import { runService } from '../../../support/process.ts';
import { PEM_FILES, ROOT_CERT } from '../../../support/tls/pem-files.ts';

test('idle connections do not keep the memory of a long answer', async ({ skip }) => {
  if (process.platform !== 'linux') {
    skip('only Linux has /proc');
    return;
  }
  const env = { API_KEYS: KEY, TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key };
  const service = runService(env);
  const port = Number(new URL(await service.url()).port);
  const residentMib = async () => {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  };
  const fetchScript = async () => {
    const socket = connect({ host: '127.0.0.1', port, ca: ROOT_CERT });
    onTestFinished(() => void socket.destroy());
    socket.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n');
    let left = 1_000_000;
    for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
      left -= (bytes as Buffer).length;
      if (left <= 0) break;
    }
    socket.resume();
  };
  for (let i = 0; i < 10; i++) await fetchScript();
  const before = await residentMib();
  for (let i = 0; i < 80; i++) await fetchScript();
  // Without portions, each keeps 1.8 MB.
  expect((await residentMib()) - before).toBeLessThan(80);
});
