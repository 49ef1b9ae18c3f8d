import type { RequestListener } from 'node:http';
import { AnswerBatch } from '../../src/adapters/http/middleware/koa-bypass.ts';
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
/** After its last answer, the service leaves a connection open for this long unless the client ends it. */
const LINGER_MS = 1_000;

/** Longer than any client here needs for all its answers. */
const LONG_TIMEOUT_MS = 25_000;

/** The drain of Node's HTTP server, with its connections, its answers in batches and clients of every kind. */
export const drain: Scenario = {
  name: 'drain',
  flaws: ['drops-requests', 'never-closes'],
  begin(simulation, flaw) {
    const { random } = simulation;
    const system = new ListeningModel(flaw);
    const log = new RecordingLog();
    const calls = new Calls(simulation);
    const clients = numbers(random.integer(2, 8)).map(
      (number) => new HttpClientModel(simulation, `client-${number}`),
    );

    async function serve(): Promise<void> {
      const options = { host: 'localhost', port: 0, log };
      const server = await system.listening(() => listen(answering(simulation), options));
      for (const client of clients) void client.run(system);
      await simulation.wait('stop', random.between(0, random.pick([50, 1_000, 4_000])));
      const timeoutMs = random.pick([1_000, 5_000, LONG_TIMEOUT_MS]);
      const acceptForMs = random.pick([0, 0, 300]);
      const closings = watch(simulation, clients, { timeoutMs, acceptForMs });
      const limits = { limitMs: acceptForMs + timeoutMs, errors: [] };
      const ended = await calls.make('drain', limits, () => server.drain(timeoutMs, acceptForMs));
      closings.verify(ended.value);
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
      const socket = request.socket as unknown as SocketModel;
      socket.headAtMs = simulation.nowMs;
      // The head says so from now on.
      if (!response.shouldKeepAlive) socket.isEnding = true;
      batch.end(response, body);
    };
    const workMs = random.chance(0.8) ? random.between(0, 5) : random.between(5, 1_000);
    const begin = () => simulation.later(`${request.url} is done`, workMs, answer);
    if (request.method === 'GET') begin();
    else request.on('end', begin).resume();
  };
}

type Times = { readonly timeoutMs: number; readonly acceptForMs: number };

/** Watches how each connection is closed during the drain, which begins now. */
function watch(
  simulation: Simulation,
  clients: readonly HttpClientModel[],
  { timeoutMs, acceptForMs }: Times,
) {
  const beganMs = simulation.nowMs;
  const stopsMs = beganMs + acceptForMs;
  const untilMs = stopsMs + timeoutMs;
  let cutShort = 0;
  for (const client of clients) {
    client.socket.once('close', () => {
      const { unanswered, name, stopsHalfway } = client;
      const isInTime = simulation.nowMs < untilMs - 1;
      const isShort = timeoutMs < LONG_TIMEOUT_MS || simulation.stalledMs > 0;
      const mayBeLost = !isInTime && (isShort || stopsHalfway);
      simulation.check(unanswered.length === 0 || mayBeLost, () => `${name}: lost ${unanswered.join(', ')}`);
      const isEarly = client.isIdle && simulation.nowMs < stopsMs + IDLE_GRACE_MS - 1;
      simulation.check(!isEarly, () => `${name}: closed without a word`);
      const isUntold = client.isIdle && client.socket.headAtMs > beganMs;
      simulation.check(
        !isUntold,
        () => `${name}: the answer during the drain did not say that it is the last`,
      );
      if (!isInTime && unanswered.length > 0) cutShort++;
    });
  }
  /** A drain ends soon after the last connection is idle, or has lingered. */
  const checkSpeed = () => {
    const lastMs = Math.max(
      stopsMs + IDLE_GRACE_MS,
      ...clients.map(({ lastActivityMs, isLingering }) => lastActivityMs + (isLingering ? LINGER_MS : 0)),
    );
    const waitedMs = simulation.nowMs - lastMs;
    const maxMs = 2 * SWEEP_INTERVAL_MS + simulation.stalledMs;
    simulation.check(waitedMs <= maxMs, () => `the drain ended ${waitedMs} ms after the last activity`);
  };
  return {
    /** @param cutOff what the drain has returned */
    verify: (cutOff = 0) => {
      const open = clients.filter(({ isOpen }) => isOpen);
      simulation.check(open.length === 0, () => `${open.length} connections are open after the drain`);
      simulation.check(cutOff >= cutShort, () => `${cutOff} connections were cut off, not ${cutShort}`);
      if (cutOff === 0 && !clients.some(({ stopsHalfway }) => stopsHalfway)) checkSpeed();
    },
  };
}
