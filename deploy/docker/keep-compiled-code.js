/** Starts the service once on each storage. Node then keeps the compiled code, which later starts read. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';

const STARTS = [
  { url: 'memory:', exitCode: 0 },
  { url: `sqlite:${tmpdir()}/petstore.db`, exitCode: 0 },
  // Loads the driver and finds no server.
  { url: 'mongodb://127.0.0.1:1/petstore?serverSelectionTimeoutMS=1', exitCode: 1 },
];

for (const { url, exitCode } of STARTS) {
  const env = {
    ...process.env,
    HOST: '127.0.0.1',
    PORT: '0',
    DATABASE_URL: url,
    API_KEYS: 'a-key-for-this-start-only',
  };
  const service = spawn('bin/petstore', ['serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  service.stdout.on('data', (text) => {
    if (String(text).includes('listening on')) service.kill('SIGTERM');
  });
  const [code] = await once(service, 'exit');
  if (code !== exitCode) throw new Error(`${url}: the service ended with exit code ${code}`);
}
