import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { RequestLog } from '../../../src/adapters/http/request-log.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { requestLog } from '../../../src/main/log/log.ts';

const REQUEST = {
  requestId: 'r',
  method: 'GET',
  route: '/v1/pets',
  status: 200,
  durationMs: 1.235,
  keyId: '0123456789abcdef',
  keyLabel: 'ci',
  aborted: undefined,
} as const;

const INFO = 30;
const WARN = 40;
const ERROR = 50;

/** What is logged by this report. */
function logged(report: (log: RequestLog) => void, level = 'info'): unknown[] {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false, level }, { write: (line) => void lines.push(line) });
  report(requestLog(log));
  return lines.map((line) => JSON.parse(line));
}

describe('the log line of a request', () => {
  it('tells what the record tells', () => {
    const { aborted: _, ...fields } = REQUEST;
    expect(logged((log) => log.answered(REQUEST))).toStrictEqual([{ level: 30, msg: 'request', ...fields }]);
  });

  it('says that the client was gone', () => {
    expect(logged((log) => log.answered({ ...REQUEST, aborted: true }))).toMatchObject([{ aborted: true }]);
  });

  it('leaves out what is not known of what was not HTTP', () => {
    const none = {
      method: undefined,
      route: undefined,
      durationMs: undefined,
      keyId: undefined,
      keyLabel: undefined,
    };
    expect(logged((log) => log.answered({ ...REQUEST, ...none, status: 400 }))).toStrictEqual([
      { level: 30, msg: 'request', requestId: 'r', status: 400 },
    ]);
  });
});

describe('the log line of a failure', () => {
  it('is an error with its stack when it is a bug', () => {
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

  it('is a warning when the storage is away', () => {
    const away = new StorageUnavailable('no primary');
    expect(logged((log) => log.failed(away, 'r'))).toMatchObject([
      { level: WARN, msg: 'failure', requestId: 'r', err: { message: 'no primary' } },
    ]);
  });

  it('tells of what is no error and belongs to no request', () => {
    expect(logged((log) => log.failed('thrown by somebody', undefined))).toStrictEqual([
      { level: ERROR, msg: 'failure', err: 'thrown by somebody' },
    ]);
  });
});

describe('the audit line of a pet', () => {
  const WHO = { requestId: 'r', keyId: '0123456789abcdef', keyLabel: 'ci' };
  const CREATED = { ...WHO, petId: 42n, replayed: false };
  const LINE = { level: INFO, msg: 'audit', audit: 'pet.created', ...WHO, petId: 42 };

  it('tells who made which', () => {
    expect(logged((log) => log.petCreated(CREATED))).toStrictEqual([LINE]);
  });

  it('tells who was given it again', () => {
    expect(logged((log) => log.petCreated({ ...CREATED, replayed: true }))).toStrictEqual([
      { ...LINE, audit: 'pet.replayed' },
    ]);
  });

  it('tells the last id to the last digit', () => {
    expect(logged((log) => log.petCreated({ ...CREATED, petId: MAX_PET_ID }))).toStrictEqual([
      { ...LINE, petId: 9_007_199_254_740_991 },
    ]);
  });

  it.each(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])('is there at the level %s', (level) => {
    expect(logged((log) => log.petCreated(CREATED), level)).toStrictEqual([LINE]);
  });

  it('is not there when nothing is to be logged at all', () => {
    expect(logged((log) => log.petCreated(CREATED), 'silent')).toStrictEqual([]);
  });

  it('does not bring the lines of requests with it', () => {
    const report = (log: RequestLog) => {
      log.answered(REQUEST);
      log.petCreated(CREATED);
      log.answered(REQUEST);
    };
    expect(logged(report, 'warn')).toStrictEqual([LINE]);
  });
});

describe('the log line of a request that was not counted', () => {
  it('is a warning with how many there have been', () => {
    const away = new StorageUnavailable('no primary');
    const report = (log: RequestLog) => {
      for (const requestId of ['a', 'b', 'c']) log.notLimited(away, requestId);
    };
    const line = (requestId: string, notLimited: number) => ({
      level: WARN,
      msg: 'not limited',
      requestId,
      notLimited,
      err: { type: 'StorageUnavailable', message: 'no primary', stack: expect.any(String) },
    });
    expect(logged(report)).toMatchObject([line('a', 1), line('b', 2), line('c', 3)]);
  });

  it('does not count what else fails', () => {
    const away = new StorageUnavailable('no primary');
    const report = (log: RequestLog) => {
      log.failed(away, 'a');
      log.notLimited(away, 'b');
    };
    expect(logged(report)).toMatchObject([{ msg: 'failure' }, { msg: 'not limited', notLimited: 1 }]);
  });
});

describe('the log line of trouble with connections', () => {
  it('is a warning that says what became of how many', () => {
    const report = (log: RequestLog) => {
      log.connectionTrouble({ kind: 'cut-off', connections: 20 });
      log.connectionTrouble({ kind: 'refused', connections: 1 });
      log.connectionTrouble({ kind: 'no-descriptors' });
      log.connectionTrouble({ kind: 'descriptors-again' });
    };
    expect(logged(report)).toStrictEqual([
      {
        level: WARN,
        msg: 'connections cut off: too much was held for clients that do not take it',
        connections: 20,
      },
      {
        level: WARN,
        msg: 'connections refused: there are as many as MAX_CONNECTIONS allows',
        connections: 1,
      },
      { level: WARN, msg: 'no file descriptor is left: new connections are closed unheard' },
      { level: WARN, msg: 'there are file descriptors again' },
    ]);
  });
});
