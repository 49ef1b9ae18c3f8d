import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { RequestLog, RequestRecord } from '../../../src/adapters/http/contract/request-log.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { requestLog } from '../../../src/main/log/request-log.ts';
import { fakeClock } from '../../support/fake-clock.ts';

const REQUEST = {
  requestId: 'r',
  method: 'GET',
  route: '/v1/pets',
  status: 404,
  durationMs: 1.235,
  keyId: '0123456789abcdef',
  keyLabel: 'ci',
  client: '192.0.2.1',
  aborted: undefined,
} as const;

const INFO = 30;
const WARN = 40;
const ERROR = 50;

/** Calls `report` with a log, and returns the parsed log lines. */
function collectLines(report: (log: RequestLog) => void, level = 'info'): unknown[] {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false, level }, { write: (line) => void lines.push(line) });
  report(requestLog(log));
  return lines.map((line) => JSON.parse(line));
}

// An IPv6 socket writes the IPv4 address of a client with the prefix `::ffff:`.
it.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:0:1', '::ffff:0:1'],
])('the log line of a request shows the client address %s as %s', (client, expected) => {
  const request = { ...REQUEST, client };
  expect(collectLines((log) => log.answered(request))).toMatchObject([{ msg: 'request', client: expected }]);
});

it('the log line of a failure without a request contains the thrown value, even if the value is not an Error', () => {
  expect(collectLines((log) => log.failed('a thrown string', undefined))).toStrictEqual([
    { level: ERROR, msg: 'failure', err: 'a thrown string' },
  ]);
});

const NO_PRIMARY = new StorageUnavailable('no primary');
const FAILURE_LINE = { level: WARN, msg: 'requests fail because of the storage', requestId: 'r' };
const noPrimary = { ...FAILURE_LINE, err: { type: 'StorageUnavailable', message: 'no primary' } };
const diskFull = { ...FAILURE_LINE, err: { type: 'StorageUnavailable', message: 'the disk is full' } };
const outageEnd = (seconds: number, failedRequests: number) => {
  return { level: WARN, msg: 'requests succeed again', seconds, failedRequests };
};

/** Each function makes one report to the log, as a request does. The rows below use the names of the functions. */
const REPORTS: Readonly<Record<string, (log: RequestLog) => void>> = {
  unreachable: (log) => log.failed(NO_PRIMARY, 'r'),
  full: (log) => log.failed(new StorageUnavailable('the disk is full'), 'r'),
  late: (log) => {
    // The storage became unavailable 19 s earlier.
    const sinceMs = performance.now() - 19_000;
    log.failed(new StorageUnavailable('no primary', { sinceMs }), 'r');
  },
  list: answered({ route: '/v1/pets', status: 200 }),
  get: answered({ route: '/v1/pets/:petId', status: 404 }),
  add: answered({ route: '/v1/pets', status: 201 }),
  ready: answered({ route: '/readyz', status: 200 }),
  live: answered({ route: '/livez', status: 200 }),
  unknownKey: answered({ route: undefined, status: 401 }),
  unknownRoute: answered({ route: undefined, status: 404 }),
};

function answered(request: Partial<RequestRecord>) {
  return (log: RequestLog) => log.answered({ ...REQUEST, ...request });
}

// `reports` is a list of times in milliseconds, each with the name of a report in `REPORTS`.
it.each<[what: string, reports: string, lines: readonly object[]]>([
  ['nothing when no request fails', '0 list, 20000 add', []],
  ['no end less than 10 s after a failure', '0 full, 9999 list, 10000 full, 19999 ready', [diskFull]],
  [
    'the end of an outage once, with its duration and its number of failed requests',
    '0 full, 500 full, 10500 list, 10501 add',
    [diskFull, outageEnd(0.5, 2)],
  ],
  ['the end of an outage at a create', '0 full, 10000 add', [diskFull, outageEnd(0, 1)]],
  ['the end of an outage at a get of a missing pet', '0 full, 10000 get', [diskFull, outageEnd(0, 1)]],
  ['the end of an outage at a readiness probe', '0 full, 10000 ready', [diskFull, outageEnd(0, 1)]],
  [
    'no end of an outage at requests that do not use the storage',
    '0 full, 20000 live, 20000 unknownKey, 20000 unknownRoute',
    [diskFull],
  ],
  ['a new reason after 10 s', '0 full, 10000 unreachable, 20000 unreachable', [diskFull, noPrimary]],
  ['no new reason less than 10 s after the first reason', '0 full, 9999 unreachable, 10001 full', [diskFull]],
  ['a second outage', '0 full, 10000 list, 11000 full', [diskFull, outageEnd(0, 1), diskFull]],
  ['the time for which the storage was unavailable', '0 late, 10000 list', [noPrimary, outageEnd(19, 1)]],
])('the log of storage failures reports %s', (_, reports, lines) => {
  const { advance } = fakeClock();
  let nowMs = 0;
  const loggedLines = collectLines((log) => {
    for (const [ms, name] of reports.split(', ').map((report) => report.split(' '))) {
      advance(Number(ms) - nowMs);
      nowMs = Number(ms);
      REPORTS[name!]!(log);
    }
  }, 'warn');
  expect(loggedLines).toMatchObject(lines);
});

const REQUEST_AND_KEY = { requestId: 'r', keyId: '0123456789abcdef', keyLabel: 'ci' };
const CREATED_PET = { ...REQUEST_AND_KEY, petId: 42n, replayed: false };
const AUDIT_LINE = { level: INFO, msg: 'audit', audit: 'pet.created', ...REQUEST_AND_KEY, petId: 42 };

it('the audit line of a repeated create is "pet.replayed", names the API key, and has every digit of the greatest pet id', () => {
  expect(
    collectLines((log) => log.petCreated({ ...CREATED_PET, replayed: true, petId: MAX_PET_ID })),
  ).toStrictEqual([{ ...AUDIT_LINE, audit: 'pet.replayed', petId: 9_007_199_254_740_991 }]);
});

it('a created pet is logged with its API key at every log level except silent, and requests are not logged at warn, error and fatal', () => {
  const report = (log: RequestLog) => {
    log.answered(REQUEST);
    log.petCreated(CREATED_PET);
    log.answered(REQUEST);
  };
  for (const level of ['warn', 'error', 'fatal'])
    expect(collectLines(report, level)).toStrictEqual([AUDIT_LINE]);
  const create = (log: RequestLog) => log.petCreated(CREATED_PET);
  for (const level of ['trace', 'info']) expect(collectLines(create, level)).toStrictEqual([AUDIT_LINE]);
  expect(collectLines(create, 'silent')).toStrictEqual([]);
});

it('a warning reports how many requests the rate limiter could not count, and is not logged during a reported outage', () => {
  const unavailable = new StorageUnavailable('no primary');
  const report = (log: RequestLog) => {
    const clock = fakeClock();
    for (const requestId of ['a', 'b']) log.notLimited(unavailable, requestId);
    log.failed(unavailable, 'c');
    log.notLimited(unavailable, 'd');
    clock.advance(10_000);
    log.answered({ ...REQUEST, status: 200 });
    log.notLimited(unavailable, 'e');
  };
  const warningLine = (requestId: string, notLimited: number) => ({
    level: WARN,
    msg: 'rate limit not enforced',
    requestId,
    notLimited,
    err: { type: 'StorageUnavailable', message: 'no primary', stack: expect.any(String) },
  });
  const lines = [warningLine('a', 1), warningLine('b', 2)];
  const outageLine = { msg: 'requests fail because of the storage', requestId: 'c' };
  const endLines = [{ msg: 'request' }, { msg: 'requests succeed again' }];
  expect(collectLines(report)).toMatchObject([...lines, outageLine, ...endLines, warningLine('e', 4)]);
});

it('a connection error is logged as a warning, with its reason if it has one', () => {
  const report = (log: RequestLog) => {
    log.connectionError({ kind: 'cut-off' });
    log.connectionError({ kind: 'handshake', reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL' });
  };
  expect(collectLines(report)).toStrictEqual([
    {
      level: WARN,
      msg: 'connections were closed: answers that their clients did not read took too much memory',
    },
    {
      level: WARN,
      msg: 'TLS handshakes failed: these clients cannot connect, or are no TLS clients',
      reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL',
    },
  ]);
});

it('connection errors of the same kind and reason are logged once per minute', () => {
  const { advance } = fakeClock();
  const report = (log: RequestLog) => {
    for (let i = 0; i < 3; i++) {
      log.connectionError({ kind: 'refused' });
      for (const reason of ['A', 'B']) log.connectionError({ kind: 'handshake', reason });
    }
    advance(59_999);
    log.connectionError({ kind: 'refused' });
    advance(1);
    log.connectionError({ kind: 'refused' });
  };
  const lines = collectLines(report) as readonly { readonly msg: string; readonly reason?: string }[];
  expect(lines.map(({ msg, reason }) => [msg.split(':')[0], reason])).toStrictEqual([
    ['connections were refused', undefined],
    ['TLS handshakes failed', 'A'],
    ['TLS handshakes failed', 'B'],
    ['connections were refused', undefined],
  ]);
});
