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

/** The lines that this report logs. */
function logged(report: (log: RequestLog) => void, level = 'info'): unknown[] {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false, level }, { write: (line) => void lines.push(line) });
  report(requestLog(log));
  return lines.map((line) => JSON.parse(line));
}

it.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8::1', '2001:db8::1'],
  ['::ffff:0:1', '::ffff:0:1'],
])(
  'the log line of a request contains the IPv4 address of a client, also on an IPv6 socket: %s',
  (client, expected) => {
    const request = { ...REQUEST, client };
    expect(logged((log) => log.answered(request))).toMatchObject([{ msg: 'request', client: expected }]);
  },
);

it('the log line of a failure without a request contains the thrown value, even if it is not an Error', () => {
  expect(logged((log) => log.failed('a thrown string', undefined))).toStrictEqual([
    { level: ERROR, msg: 'failure', err: 'a thrown string' },
  ]);
});

const NO_PRIMARY = new StorageUnavailable('no primary');
const BEGIN = { level: WARN, msg: 'requests fail because of the storage', requestId: 'r' };
const noPrimary = { ...BEGIN, err: { type: 'StorageUnavailable', message: 'no primary' } };
const diskFull = { ...BEGIN, err: { type: 'StorageUnavailable', message: 'the disk is full' } };
const end = (seconds: number, failedRequests: number) => {
  return { level: WARN, msg: 'requests succeed again', seconds, failedRequests };
};

/** The calls with which a request reports to the log, by name. */
const REPORTS: Readonly<Record<string, (log: RequestLog) => void>> = {
  unreachable: (log) => log.failed(NO_PRIMARY, 'r'),
  full: (log) => log.failed(new StorageUnavailable('the disk is full'), 'r'),
  late: (log) => {
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

it.each<[what: string, reports: string, lines: readonly object[]]>([
  ['nothing without a failure', '0 list, 20000 add', []],
  ['the start, while requests succeed in between', '0 full, 9999 list, 10000 full, 19999 ready', [diskFull]],
  [
    'the end after 10 s without a failure',
    '0 full, 500 full, 10500 list, 10501 add',
    [diskFull, end(0.5, 2)],
  ],
  ['the end by a create', '0 full, 10000 add', [diskFull, end(0, 1)]],
  ['the end by a missing pet', '0 full, 10000 get', [diskFull, end(0, 1)]],
  ['the end by a probe', '0 full, 10000 ready', [diskFull, end(0, 1)]],
  [
    'nothing of what needs no storage',
    '0 full, 20000 live, 20000 unknownKey, 20000 unknownRoute',
    [diskFull],
  ],
  ['another reason', '0 full, 10000 unreachable, 20000 unreachable', [diskFull, noPrimary]],
  ['another reason after 10 s at the earliest', '0 full, 9999 unreachable, 10001 full', [diskFull]],
  ['two outages', '0 full, 10000 list, 11000 full', [diskFull, end(0, 1), diskFull]],
  ['the duration since the storage became unavailable', '0 late, 10000 list', [noPrimary, end(19, 1)]],
])('the log of storage failures reports %s', (_, reports, lines) => {
  const { advance } = fakeClock();
  let nowMs = 0;
  const told = logged((log) => {
    for (const [ms, name] of reports.split(', ').map((report) => report.split(' '))) {
      advance(Number(ms) - nowMs);
      nowMs = Number(ms);
      REPORTS[name!]!(log);
    }
  }, 'warn');
  expect(told).toMatchObject(lines);
});

const WHO = { requestId: 'r', keyId: '0123456789abcdef', keyLabel: 'ci' };
const CREATED = { ...WHO, petId: 42n, replayed: false };
const LINE = { level: INFO, msg: 'audit', audit: 'pet.created', ...WHO, petId: 42 };

it('the audit line of a replayed create names the API key, and prints every digit of the greatest pet id', () => {
  expect(logged((log) => log.petCreated({ ...CREATED, replayed: true, petId: MAX_PET_ID }))).toStrictEqual([
    { ...LINE, audit: 'pet.replayed', petId: 9_007_199_254_740_991 },
  ]);
});

it('the audit line of a pet names the API key and the pet at every level except silent, without request lines at that level', () => {
  const report = (log: RequestLog) => {
    log.answered(REQUEST);
    log.petCreated(CREATED);
    log.answered(REQUEST);
  };
  for (const level of ['warn', 'error', 'fatal']) expect(logged(report, level)).toStrictEqual([LINE]);
  const create = (log: RequestLog) => log.petCreated(CREATED);
  for (const level of ['trace', 'info']) expect(logged(create, level)).toStrictEqual([LINE]);
  expect(logged(create, 'silent')).toStrictEqual([]);
});

it('a warning reports how many requests the rate limiter could not count, but not during a reported outage', () => {
  const away = new StorageUnavailable('no primary');
  const report = (log: RequestLog) => {
    const clock = fakeClock();
    for (const requestId of ['a', 'b']) log.notLimited(away, requestId);
    log.failed(away, 'c');
    log.notLimited(away, 'd');
    clock.advance(10_000);
    log.answered({ ...REQUEST, status: 200 });
    log.notLimited(away, 'e');
  };
  const line = (requestId: string, notLimited: number) => ({
    level: WARN,
    msg: 'rate limit not enforced',
    requestId,
    notLimited,
    err: { type: 'StorageUnavailable', message: 'no primary', stack: expect.any(String) },
  });
  const failure = { msg: 'requests fail because of the storage', requestId: 'c' };
  const again = [{ msg: 'request' }, { msg: 'requests succeed again' }];
  expect(logged(report)).toMatchObject([line('a', 1), line('b', 2), failure, ...again, line('e', 4)]);
});

it('the log line of a connection error is a warning with the kind of the error and its reason', () => {
  const report = (log: RequestLog) => {
    log.connectionError({ kind: 'cut-off' });
    log.connectionError({ kind: 'handshake', reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL' });
  };
  expect(logged(report)).toStrictEqual([
    {
      level: WARN,
      msg: 'connections cut off: clients that do not read their answers held too much memory',
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
  const lines = logged(report) as readonly { readonly msg: string; readonly reason?: string }[];
  expect(lines.map(({ msg, reason }) => [msg.split(':')[0], reason])).toStrictEqual([
    ['connections refused', undefined],
    ['TLS handshakes failed', 'A'],
    ['TLS handshakes failed', 'B'],
    ['connections refused', undefined],
  ]);
});
