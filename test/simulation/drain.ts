import type { RequestListener } from 'node:http';
import { AnswerBatch } from '../../src/adapters/http/middleware/answer-batch.ts';
import { listen } from '../../src/adapters/http/server/listen.ts';
import { numbers } from '../support/numbers.ts';
import { RecordingLog } from '../support/recording-log.ts';
import { Calls } from './calls.ts';
import { HttpClientModel } from './http-client-model.ts';
import { ListeningModel } from './listening-model.ts';
import type { Scenario } from './run-schedule.ts';
import type { Simulation } from './simulation.ts';
import type { SocketModel } from './socket-model.ts';

/** How long idle connections stay open, and how often they are looked for, in milliseconds. */
const IDLE_GRACE_MS = 500;
const SWEEP_INTERVAL_MS = 50;

/** The drain of Node's HTTP server, with its connections, its answers in batches and clients of every kind. */
export const drain: Scenario = {
  name: 'drain',
  flaws: ['drops-requests', 'never-closes'],
  begin(simulation, flaw) {
    const { random } = simulation;
    const system = new ListeningModel(flaw);
    const log = new RecordingLog();
    const calls = new Calls(simulation);
    const clients = numbers(random.integer(2, 8)).map((number) => new HttpClientModel(simulation, `client-${number}`));
    const timeoutMs = random.pick([1_000, 5_000, 25_000]);
    const acceptForMs = random.pick([0, 0, 300]);
    let cutOff: number | undefined;

    async function serve(): Promise<void> {
      const options = { host: 'localhost', port: 0, log };
      const server = await system.listening(() => listen(answering(simulation), options));
      for (const client of clients) void client.run(system);
      await simulation.wait('stop', random.between(0, random.pick([50, 1_000, 4_000])));
      const beganMs = simulation.nowMs;
      const untilMs = beganMs + acceptForMs + timeoutMs;
      for (const client of clients) watch(simulation, client, untilMs);
      const limits = { limitMs: acceptForMs + timeoutMs, errors: [] };
      const ended = await calls.make('drain', limits, () => server.drain(timeoutMs, acceptForMs));
      cutOff = ended.value;
      const open = clients.filter(({ isOpen }) => isOpen);
      simulation.check(open.length === 0, () => `${open.length} connections are open after the drain`);
      if (cutOff === 0 && !clients.some(({ stopsHalfway }) => stopsHalfway)) checkSpeed(simulation, clients, beganMs + acceptForMs);
    }

    void serve();
    return () => {
      calls.verifyAllSettled();
      for (const { error } of log.failures) simulation.check(false, () => `logged ${String(error)}`);
    };
  },
};

/** Answers each request with its target, after a while. */
function answering(simulation: Simulation): RequestListener {
  const { random } = simulation;
  const batch = new AnswerBatch();
  return (request, response) => {
    const body = (request.url ?? '').padEnd(random.chance(0.1) ? 50_000 : 0);
    const answer = () => {
      response.writeHead(200, { 'Content-Length': body.length });
      // The head says so from now on.
      if (!response.shouldKeepAlive) (request.socket as unknown as SocketModel).isEnding = true;
      batch.end(response, body);
    };
    const workMs = random.chance(0.8) ? random.between(0, 5) : random.between(5, 3_000);
    const begin = () => simulation.later(`${request.url} is done`, workMs, answer);
    if (request.method === 'GET') begin();
    else request.on('end', begin).resume();
  };
}

/** Until the time limit, the server closes no connection on which a request is in progress. */
function watch(simulation: Simulation, client: HttpClientModel, untilMs: number): void {
  client.socket.once('close', () => {
    const isInTime = simulation.nowMs < untilMs - 1;
    const lost = isInTime ? client.unanswered : [];
    simulation.check(lost.length === 0, () => `${client.name}: lost ${lost.join(', ')}`);
  });
}

/** A drain ends soon after the last connection is idle. */
function checkSpeed(simulation: Simulation, clients: readonly HttpClientModel[], beganMs: number): void {
  const lastMs = Math.max(beganMs + IDLE_GRACE_MS, ...clients.map(({ lastActivityMs }) => lastActivityMs));
  const waitedMs = simulation.nowMs - lastMs;
  const maxMs = 2 * SWEEP_INTERVAL_MS + simulation.stalledMs;
  simulation.check(waitedMs <= maxMs, () => `the drain ended ${waitedMs} ms after the last activity`);
}
