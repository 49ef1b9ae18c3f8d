import { pino } from 'pino';
import { expect, it, vi } from 'vitest';
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

const DEBUG = 20;
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
  'the log line of a request has the IPv4 address of a client, also on a socket that accepts IPv6: %s',
  (client, expected) => {
    const request = { ...REQUEST, client };
    expect(logged((log) => log.answered(request))).toMatchObject([{ msg: 'request', client: expected }]);
  },
);

it('the log line of a failure is a warning if the storage is unavailable, and later ones are for debugging', () => {
  const away = new StorageUnavailable('no primary');
  const report = (log: RequestLog) => {
    for (const requestId of ['a', 'b']) log.failed(away, requestId);
  };
  const line = { level: WARN, msg: 'requests fail because of the storage', requestId: 'a', err: away };
  expect(logged(report)).toMatchObject([{ ...line, err: { message: 'no primary' } }]);
  expect(logged(report, 'debug')[1]).toMatchObject({ level: DEBUG, msg: 'failure', requestId: 'b' });
});

it('the log line of a failure counts the seconds of an outage from when the storage was lost', () => {
  const clock = fakeClock();
  const report = (log: RequestLog) => {
    const away = new StorageUnavailable('no primary', { sinceMs: performance.now() - 19_000 });
    log.failed(away, 'a', { method: 'GET' });
    clock.advance(1_500);
    log.answered({ ...REQUEST, status: 200 });
  };
  const line = { level: WARN, msg: 'requests succeed again', seconds: 20.5, failedRequests: 1 };
  expect(logged(report)).toContainEqual(line);
});

it('the log line of a failure holds a thrown value that is not an Error and belongs to no request', () => {
  expect(logged((log) => log.failed('a thrown string', undefined))).toStrictEqual([
    { level: ERROR, msg: 'failure', err: 'a thrown string' },
  ]);
});

/** What a request does to the log. */
const REPORTS: Readonly<Record<string, (log: RequestLog) => void>> = {
  ...reportsOf('list', { method: 'GET', route: '/v1/pets' }, 200),
  ...reportsOf('get', { method: 'GET', route: '/v1/pets/:petId' }, 404),
  ...reportsOf('key', { method: 'GET', route: undefined }, 401),
  ...reportsOf('add', { method: 'POST', route: '/v1/pets' }, 201),
  ...reportsOf('ready', { method: 'GET', route: '/readyz' }, 200),
  ...reportsOf('live', { method: 'GET', route: '/livez' }, 200),
  ...reportsOf('lost', { method: 'GET', route: undefined }, 404),
  added: (log) => log.petCreated({ requestId: 'r', petId: 1n, keyId: 'a', keyLabel: 'b', replayed: false }),
  replayed: (log) => log.petCreated({ requestId: 'r', petId: 1n, keyId: 'a', keyLabel: 'b', replayed: true }),
};

function reportsOf(name: string, request: Pick<RequestRecord, 'method' | 'route'>, status: number) {
  const fails = (log: RequestLog) => log.failed(new StorageUnavailable('no primary'), 'r', request);
  return {
    [`-${name}`]: fails,
    [name]: (log: RequestLog) => log.answered({ ...REQUEST, ...request, status }),
  };
}

it.each([
  ['nothing, when nothing fails', '0 list, 1 added', []],
  ['one failure', '0 -list, 9000 -get, 9500 -add', ['-']],
  ['the end', '0 -list, 500 -get, 10000 -add, 12000 list, 12500 added', ['-', '12.5 s, 3']],
  ['that reads succeed', '0 -list, 2000 get', ['-', '2 s, 1']],
  ['that a key can be read', '0 -key, 2000 list', ['-', '2 s, 1']],
  ['two outages', '0 -list, 2000 list, 4000 -list, 4001 -get, 7000 list', ['-', '2 s, 1', '-', '3 s, 2']],
  ['nothing of successes between failures', '0 -list, 900 -list, 1900 list, 1901 list', ['-', '1.901 s, 2']],
  [
    'nothing of reads while the disk is full',
    '0 -add, 2000 list, 3000 replayed, 9000 added',
    ['-', '9 s, 1'],
  ],
  ['nothing of requests without an index', '0 -ready, 2000 added, 3000 list, 6000 ready', ['-', '6 s, 1']],
  ['nothing of what needs no storage', '0 -list, 2000 live, 3000 key, 4000 lost, 5000 add', ['-']],
  [
    'that reads succeed, a minute after the last write',
    '0 -add, 60000 list, 60001 list',
    ['-', '60.001 s, 1'],
  ],
])('tells %s of an outage of the storage', (_, reports, lines) => {
  const told = logged((log) => {
    // Of a whole number, the differences are exact.
    const startMs = Math.ceil(performance.now());
    for (const [ms, name] of reports.split(', ').map((report) => report.split(' '))) {
      vi.spyOn(performance, 'now').mockReturnValue(startMs + Number(ms));
      REPORTS[name!]!(log);
    }
    vi.restoreAllMocks();
  }, 'warn') as Record<string, unknown>[];
  const inBrief = told.flatMap(({ msg, seconds, failedRequests }) => {
    if (msg === 'requests fail because of the storage') return ['-'];
    return msg === 'requests succeed again' ? [`${String(seconds)} s, ${String(failedRequests)}`] : [];
  });
  expect(inBrief).toStrictEqual(lines);
});

const WHO = { requestId: 'r', keyId: '0123456789abcdef', keyLabel: 'ci' };
const CREATED = { ...WHO, petId: 42n, replayed: false };
const LINE = { level: INFO, msg: 'audit', audit: 'pet.created', ...WHO, petId: 42 };

it('the audit line of a pet says who was given an existing pet again, with the last id to the last digit', () => {
  expect(logged((log) => log.petCreated({ ...CREATED, replayed: true, petId: MAX_PET_ID }))).toStrictEqual([
    { ...LINE, audit: 'pet.replayed', petId: 9_007_199_254_740_991 },
  ]);
});

it('the audit line of a pet says who created which pet at every level but silent, and turns on no lines of requests', () => {
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

it('the log line of a request that was not counted is a warning that counts such requests, but not in an outage', () => {
  const away = new StorageUnavailable('no primary');
  const report = (log: RequestLog) => {
    const clock = fakeClock();
    for (const requestId of ['a', 'b']) log.notLimited(away, requestId);
    log.failed(away, 'c', { method: 'GET' });
    log.notLimited(away, 'd');
    clock.advance(1_001);
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

it('the log line of trouble with connections is a warning that says what happened and why', () => {
  const report = (log: RequestLog) => {
    log.connectionTrouble({ kind: 'cut-off' });
    log.connectionTrouble({ kind: 'handshake', reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL' });
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

it('the same trouble with connections is one line per minute, for each reason', () => {
  const { advance } = fakeClock();
  const report = (log: RequestLog) => {
    for (let i = 0; i < 3; i++) {
      log.connectionTrouble({ kind: 'refused' });
      for (const reason of ['A', 'B']) log.connectionTrouble({ kind: 'handshake', reason });
    }
    advance(59_999);
    log.connectionTrouble({ kind: 'refused' });
    advance(1);
    log.connectionTrouble({ kind: 'refused' });
  };
  const lines = logged(report) as readonly { readonly msg: string; readonly reason?: string }[];
  expect(lines.map(({ msg, reason }) => [msg.split(':')[0], reason])).toStrictEqual([
    ['connections refused', undefined],
    ['TLS handshakes failed', 'A'],
    ['TLS handshakes failed', 'B'],
    ['connections refused', undefined],
  ]);
});
