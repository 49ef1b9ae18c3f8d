import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { RequestLog } from '../../../src/adapters/http/wire/request-log.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { requestLog } from '../../../src/main/log/request-log.ts';

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

describe('the log line of a request', () => {
  it('has the fields of the record', () => {
    const record = { ...REQUEST, aborted: true } as const;
    expect(logged((log) => log.answered(record))).toStrictEqual([{ level: 30, msg: 'request', ...record }]);
  });

  it('leaves out what is unknown because the input was not HTTP', () => {
    const none = {
      method: undefined,
      route: undefined,
      durationMs: undefined,
      keyId: undefined,
      keyLabel: undefined,
      client: undefined,
    };
    expect(logged((log) => log.answered({ ...REQUEST, ...none, status: 400 }))).toStrictEqual([
      { level: 30, msg: 'request', requestId: 'r', status: 400 },
    ]);
  });
});

describe('the log line of a failure', () => {
  it('is an error with its stack if it is a bug', () => {
    const bug = new TypeError('boom', { cause: new Error('the reason') });
    expect(logged((log) => log.failed(bug, 'r'))).toMatchObject([
      {
        level: ERROR,
        msg: 'failure',
        requestId: 'r',
        err: { type: 'TypeError', stack: expect.stringMatching(/^TypeError: boom\n.*the reason/s) },
      },
    ]);
  });

  it('is a warning if the storage is unavailable', () => {
    const away = new StorageUnavailable('no primary');
    expect(logged((log) => log.failed(away, 'r'))).toMatchObject([
      { level: WARN, msg: 'failure', requestId: 'r', err: { message: 'no primary' } },
    ]);
  });

  it('holds a thrown value that is not an Error and belongs to no request', () => {
    expect(logged((log) => log.failed('a thrown string', undefined))).toStrictEqual([
      { level: ERROR, msg: 'failure', err: 'a thrown string' },
    ]);
  });
});

describe('the audit line of a pet', () => {
  const WHO = { requestId: 'r', keyId: '0123456789abcdef', keyLabel: 'ci' };
  const CREATED = { ...WHO, petId: 42n, replayed: false };
  const LINE = { level: INFO, msg: 'audit', audit: 'pet.created', ...WHO, petId: 42 };

  it('says who created which pet', () => {
    expect(logged((log) => log.petCreated(CREATED))).toStrictEqual([LINE]);
  });

  it('says who was given an existing pet again, with the last id to the last digit', () => {
    expect(logged((log) => log.petCreated({ ...CREATED, replayed: true, petId: MAX_PET_ID }))).toStrictEqual([
      { ...LINE, audit: 'pet.replayed', petId: 9_007_199_254_740_991 },
    ]);
  });

  it.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])('is logged at level %s', (level) => {
    expect(logged((log) => log.petCreated(CREATED), level)).toStrictEqual([LINE]);
  });

  it('is not logged at level silent', () => {
    expect(logged((log) => log.petCreated(CREATED), 'silent')).toStrictEqual([]);
  });

  it('does not turn on the lines of requests', () => {
    const report = (log: RequestLog) => {
      log.answered(REQUEST);
      log.petCreated(CREATED);
      log.answered(REQUEST);
    };
    expect(logged(report, 'warn')).toStrictEqual([LINE]);
  });
});

describe('the log line of a request that was not counted', () => {
  it('is a warning that counts such requests, and no other failures', () => {
    const away = new StorageUnavailable('no primary');
    const report = (log: RequestLog) => {
      log.failed(away, 'a');
      for (const requestId of ['a', 'b', 'c']) log.notLimited(away, requestId);
    };
    const line = (requestId: string, notLimited: number) => ({
      level: WARN,
      msg: 'rate limit not enforced',
      requestId,
      notLimited,
      err: { type: 'StorageUnavailable', message: 'no primary', stack: expect.any(String) },
    });
    expect(logged(report).slice(1)).toMatchObject([line('a', 1), line('b', 2), line('c', 3)]);
  });
});

describe('the log line of trouble with connections', () => {
  it('is a warning that says what happened to how many', () => {
    const report = (log: RequestLog) => {
      log.connectionTrouble({ kind: 'cut-off', connections: 20 });
      log.connectionTrouble({ kind: 'handshake', connections: 2, reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL' });
    };
    expect(logged(report)).toStrictEqual([
      {
        level: WARN,
        msg: 'connections cut off: clients that do not read their answers held too much memory',
        connections: 20,
      },
      {
        level: WARN,
        msg: 'TLS handshakes failed: these clients cannot connect, or are no TLS clients',
        connections: 2,
        reason: 'ERR_SSL_UNSUPPORTED_PROTOCOL',
      },
    ]);
  });
});
