import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { RequestLog } from '../../src/adapters/http/request-log.ts';
import { StorageUnavailable } from '../../src/application/errors.ts';
import { requestLog } from '../../src/main/log.ts';

const REQUEST = {
  requestId: 'r',
  method: 'GET',
  route: '/v1/pets',
  status: 200,
  durationMs: 1.235,
  keyId: '0123456789abcdef',
  key: 'ci',
  aborted: undefined,
} as const;

const WARN = 40;
const ERROR = 50;

/** What is logged by this report. */
function logged(report: (log: RequestLog) => void): unknown[] {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
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
      key: undefined,
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
