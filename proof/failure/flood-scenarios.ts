import { readFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { ask } from './ask.ts';
import type { Attack } from './attacker.ts';
import { computeFigures } from './figures.ts';
import { startHaproxy } from './haproxy-before.ts';
import type { Scenario } from './scenario.ts';
import { AUTHORIZATION } from './service-process.ts';
import type { SqliteStore } from './sqlite-store.ts';

const FLOOD_BYTES = 64 * 1024;
const KEY_HEADER = `Authorization: ${AUTHORIZATION.authorization}\r\n`;
const getRequest = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${KEY_HEADER}\r\n`;
const fillFlood = (request: string) => request.repeat(FLOOD_BYTES / request.length);
const POST_HEAD = `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n${KEY_HEADER}Content-Type: application/json\r\n`;
const CHUNKED_HEAD = `${POST_HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const SPACE_CHUNK = '1\r\n \r\n';
/** A chunk that fills the buffer of HAProxy. HAProxy then passes each further piece to the service immediately. */
const LARGE_CHUNK = `5000\r\n${' '.repeat(0x5000)}\r\n`;
/** The request for a file of 1.7 MB, which the service sends to clients without a key, too. */
const SCRIPT_REQUEST = getRequest('/docs/swagger-ui-bundle.js');

/** The floods by name. No flood adds a pet. */
const ATTACKS: Readonly<Record<string, Omit<Attack, 'port' | 'addressCount' | 'counts'>>> = {
  'pipelined requests': { connectionCount: 1_000, firstText: fillFlood(getRequest('/v1/pets/1')) },
  'one-byte chunks': { connectionCount: 300, firstText: CHUNKED_HEAD + SPACE_CHUNK.repeat(FLOOD_BYTES) },
  'slow one-byte chunks': {
    connectionCount: 300,
    firstText: CHUNKED_HEAD + LARGE_CHUNK,
    repeatedText: [SPACE_CHUNK, 50],
  },
  'request heads that never end': {
    connectionCount: 5_200,
    firstText: `${POST_HEAD}X-A: `,
    repeatedText: ['a', 1_000],
  },
  'slow readers': { connectionCount: 1_000, firstText: fillFlood(getRequest('/v1/pets')), readsSlowly: true },
  'slow readers of a file of 1.7 MB': { connectionCount: 100, firstText: SCRIPT_REQUEST, readsSlowly: true },
};

/** Returns the highest resident memory of a process since its start. */
async function highestMemoryMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

export const FLOOD_SCENARIOS: readonly Scenario<SqliteStore>[] = Object.entries(ATTACKS).map(
  ([name, attack]) => ({
    name: `HAProxy: ${name}`,
    isPlayedAlone: true,
    async play(stage, { file }) {
      if (process.platform !== 'linux') {
        stage.skipReason = 'only Linux has all addresses of 127.0.0.0/8, and /proc';
        return;
      }
      const service = await stage.startService({ DATABASE_URL: `sqlite:${file}`, TRUST_PROXY: 'true' });
      const proxy = await startHaproxy(stage, [service, service]);
      if (proxy === undefined) return;
      const load = await stage.startLoad([proxy], { clients: 4 });
      load.beginFault();
      const attacks = [250, 1].map((addressCount) => {
        const counts = new Float64Array(new SharedArrayBuffer(16));
        const workerData: Attack = { ...attack, port: Number(new URL(proxy.url).port), addressCount, counts };
        const worker = new Worker(new URL('./attacker.ts', import.meta.url), { workerData });
        stage.resources.defer(async () => void (await worker.terminate()));
        return workerData;
      });
      const loadEnd = new AbortController();
      void stage.letRun(20).then(() => loadEnd.abort());
      let slowestMs = 0;
      for (; !loadEnd.signal.aborted; await sleep(50)) {
        const beginMs = performance.now();
        const { status } = await ask(`${proxy.url}/livez`, { agent: new Agent() });
        stage.expect(`a new connection gets 200 (it was ${status})`, status === 200);
        slowestMs = Math.max(slowestMs, performance.now() - beginMs);
      }
      for (const { addressCount, connectionCount, counts } of attacks) {
        const [closed, bytes] = counts;
        stage.notes.push(
          `${addressCount} addresses: ${closed} of ${connectionCount} closed, ${bytes} bytes read`,
        );
      }
      load.endFault();
      await load.stop();
      const { failedRequests, slowestAnswerMs } = computeFigures(load.history);
      stage.expectAtMost('failed requests of the other clients', failedRequests, 0, '');
      stage.expectAtMost('slowest answer to the other clients', slowestAnswerMs, 2_000);
      stage.expectAtMost('slowest answer on a new connection', slowestMs, 2_000);
      stage.expectAtMost('highest memory of the service', await highestMemoryMib(service.pid), 256, 'MiB');
      stage.expectAtMost('highest memory of HAProxy', await highestMemoryMib(proxy.pid), 128, 'MiB');
    },
  }),
);
