import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ask } from './ask.ts';
import type { Attack } from './attacker.ts';
import { figures } from './figures.ts';
import { haproxyBefore } from './haproxy-before.ts';
import type { Scenario } from './scenario.ts';
import { AUTHORIZATION } from './service-process.ts';
import type { SqliteStore } from './sqlite-store.ts';

const FLOOD_BYTES = 64 * 1024;
const KEY = `Authorization: ${AUTHORIZATION.authorization}\r\n`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${KEY}\r\n`;
const pipelined = (request: string) => request.repeat(FLOOD_BYTES / request.length);
const POST = `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n${KEY}Content-Type: application/json\r\n`;
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const SPACE = '1\r\n \r\n';
/** It fills the buffer of HAProxy, which then passes on each piece as it comes. */
const FULL = `5000\r\n${' '.repeat(0x5000)}\r\n`;
/** 1.7 MB, for which no key is needed. */
const SCRIPT = get('/docs/swagger-ui-bundle.js');

/** None of them adds a pet. */
const ATTACKS: Readonly<Record<string, Omit<Attack, 'port' | 'addresses' | 'counts'>>> = {
  'pipelined requests': { connections: 1_000, first: pipelined(get('/v1/pets/1')) },
  'one-byte chunks': { connections: 300, first: CHUNKED + SPACE.repeat(FLOOD_BYTES) },
  'slow one-byte chunks': { connections: 300, first: CHUNKED + FULL, more: [SPACE, 50] },
  'heads that never end': { connections: 5_200, first: `${POST}X-A: `, more: ['a', 1_000] },
  'slow readers': { connections: 1_000, first: pipelined(get('/v1/pets')), readsSlowly: true },
  'slow readers of the page': { connections: 100, first: SCRIPT, readsSlowly: true },
};

/** The highest resident memory of a process since it began. */
async function highestMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

export const FLOOD_SCENARIOS: readonly Scenario<SqliteStore>[] = Object.entries(ATTACKS).map(
  ([name, attack]) => ({
    name: `HAProxy: ${name}`,
    alone: true,
    async play(stage, { file }) {
      if (process.platform !== 'linux') {
        stage.leftOut = 'only Linux has all addresses of 127.0.0.0/8, and /proc';
        return;
      }
      const service = await stage.service({ DATABASE_URL: `sqlite:${file}`, TRUST_PROXY: 'true' });
      const proxy = await haproxyBefore(stage, [service, service]);
      if (proxy === undefined) return;
      const load = await stage.load([proxy], { clients: 4 });
      load.fault();
      const attacks = [250, 1].map((addresses) => {
        const counts = new Float64Array(new SharedArrayBuffer(16));
        const workerData: Attack = { ...attack, port: Number(new URL(proxy.url).port), addresses, counts };
        const worker = new Worker(new URL('./attacker.ts', import.meta.url), { workerData });
        stage.owned.defer(async () => void (await worker.terminate()));
        return workerData;
      });
      const over = new AbortController();
      void stage.letRun(20).then(() => over.abort());
      let slowestMs = 0;
      for (; !over.signal.aborted; await sleep(50)) {
        const begunMs = performance.now();
        const { status } = await ask(`${proxy.url}/livez`, { agent: new Agent() });
        stage.expect(`a new connection gets 200 (it was ${status})`, status === 200);
        slowestMs = Math.max(slowestMs, performance.now() - begunMs);
      }
      for (const { addresses, connections, counts } of attacks) {
        const [closed, bytes] = counts;
        stage.notes.push(`${addresses} addresses: ${closed} of ${connections} closed, ${bytes} bytes read`);
      }
      load.healed();
      await load.stop();
      const { failedRequests, slowestAnswerMs } = figures(load.history);
      stage.bar('requests of others that failed', failedRequests, 0, '');
      stage.bar('slowest answer to others', slowestAnswerMs, 2_000);
      stage.bar('slowest answer on a new connection', slowestMs, 2_000);
      stage.bar('highest memory of the service', await highestMib(service.pid), 256, 'MiB');
      stage.bar('highest memory of HAProxy', await highestMib(proxy.pid), 128, 'MiB');
    },
  }),
);
