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

/** A flood of requests begins with at most 64 KiB of requests. A flood of chunks begins with 65,536 chunks. */
const FLOOD_SIZE = 64 * 1024;
const KEY_HEADER = `Authorization: ${AUTHORIZATION.authorization}\r\n`;
const getRequest = (path: string) => `GET ${path} HTTP/1.1\r\nHost: petstore\r\n${KEY_HEADER}\r\n`;
const floodOf = (request: string) => request.repeat(FLOOD_SIZE / request.length);
/** The head of a request to add a pet, without the empty line that ends a head. */
const OPEN_HEAD = `POST /v1/pets HTTP/1.1\r\nHost: petstore\r\n${KEY_HEADER}Content-Type: application/json\r\n`;
const POST_HEAD = `${OPEN_HEAD}Transfer-Encoding: chunked\r\n\r\n`;
/** A chunk with a body of one space. */
const CHUNK = '1\r\n \r\n';
/** A chunk that fills the buffer of HAProxy. HAProxy then passes each later chunk to the service immediately. */
const BIG_CHUNK = `5000\r\n${' '.repeat(0x5000)}\r\n`;
/** The request for a file of 1.7 MB. An attacker needs no API key for it, because the file is public. */
const SCRIPT_REQUEST = getRequest('/docs/swagger-ui-bundle.js');

/** The attacks by name. No attack adds a pet. For `repeatedText`, the number is the pause in milliseconds. */
const ATTACKS: Readonly<Record<string, Omit<Attack, 'port' | 'addressCount' | 'counts'>>> = {
  'pipelined requests': { connectionCount: 1_000, firstText: floodOf(getRequest('/v1/pets/1')) },
  'one-byte chunks': { connectionCount: 300, firstText: POST_HEAD + CHUNK.repeat(FLOOD_SIZE) },
  'slow one-byte chunks': {
    connectionCount: 300,
    firstText: POST_HEAD + BIG_CHUNK,
    repeatedText: [CHUNK, 50],
  },
  'request heads that never end': {
    connectionCount: 5_200,
    firstText: `${OPEN_HEAD}X-A: `,
    repeatedText: ['a', 1_000],
  },
  'slow readers': { connectionCount: 1_000, firstText: floodOf(getRequest('/v1/pets')), readsSlowly: true },
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
      // HAProxy limits the connections of each address. So one attack uses many addresses, and the other uses one.
      const attacks = [250, 1].map((addressCount) => {
        // Shared memory for two numbers of 8 bytes, which the attacker counts up.
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
        stage.expect(`a new connection gets the status 200, not ${status}`, status === 200);
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
