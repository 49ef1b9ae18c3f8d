import { readFileSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { connect, KEY } from '../../support/client.ts';
import { numbers } from '../../support/numbers.ts';
import { OtlpReceiver } from '../../support/otlp-receiver.ts';
import { DONE, run, SERVICE, SERVICE_ENV, stop } from '../../support/process.ts';
import { newFile } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { PEM_FILES } from '../../support/tls/pem-files.ts';
import { waitFor } from '../../support/wait-for.ts';

/** The service writes its log at once when so many lines wait, with a label of this length. */
const LABEL = 'l'.repeat(64);
const LINES_OF_A_BATCH = 200;

const BODY = '{"name":"Rex","categoryId":7}';
const HEADERS = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`;
const LIST = `GET /v1/pets?limit=100 ${HEADERS}\r\n`;
const createOnce = (key: string) =>
  `POST /v1/pets ${HEADERS}Content-Type: application/json\r\nIdempotency-Key: ${key}\r\n` +
  `Content-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** A service with everything that a variable can load. Its log is a file. */
async function startAll(DATABASE_URL: string) {
  const log = join(await testDirectory(), 'log');
  writeFileSync(log, '');
  const news = watch(log);
  onTestFinished(() => news.close());
  const service = run('sh', ['-c', `exec "$0" "$@" >> ${log}`, process.execPath, ...SERVICE], {
    ...SERVICE_ENV,
    DATABASE_URL,
    API_KEYS: `${LABEL}=${KEY}`,
    METRICS_PORT: '0',
    OTEL_EXPORTER_OTLP_ENDPOINT: (await OtlpReceiver.start()).url,
    TLS_CERT: PEM_FILES.cert,
    TLS_KEY: PEM_FILES.key,
  });
  const logged = () => readFileSync(log, 'utf8');
  const url = await waitFor(news, 'change', () => /"msg":"listening on (https\S+) /.exec(logged())?.[1]);
  /** Sends requests, each after the answer to the one before. Resolves with the last answer. */
  const ask = async (request: string, times = 1): Promise<Answer> => {
    const connection = await connect(url);
    let answer: Answer | undefined;
    for (let n = 0; n < times; n++) {
      await connection.send(request);
      answer = await connection.answer();
    }
    connection.close();
    return answer!;
  };
  /** The kernel refuses to let the service write a file beyond this size. */
  const limitFileSize = async (bytes: string) => {
    expect(await run('prlimit', ['--pid', `${service.pid}`, `--fsize=${bytes}:`]).ended).toStrictEqual(DONE);
  };
  return { service, logged, ask, limitFileSize };
}

it.skipIf(process.platform !== 'linux')(
  'a service goes on while it may not write to files, as does its log, and says to which (needs prlimit of Linux)',
  async () => {
    const file = await newFile();
    const { service, logged, ask, limitFileSize } = await startAll(`sqlite:${file}`);
    const bare = run(process.execPath, ['-p', '/SigIgn.*/.exec(fs.readFileSync("/proc/self/status"))[0]']);
    await bare.ended;
    expect(readFileSync(`/proc/${service.pid}/status`, 'utf8')).toContain(bare.stdout);
    const createAll = () => Promise.all(numbers(20).map((n) => ask(createOnce(`${n}`))));
    const first = await ask(createOnce('first'));

    await limitFileSize('1');
    for (const { status } of await createAll()) expect(status).toBe(503);
    expect(JSON.parse((await ask(LIST, LINES_OF_A_BATCH)).body)).toHaveLength(1);
    await limitFileSize('unlimited');

    for (const { status, headers } of await createAll()) {
      expect([status, headers['idempotent-replayed']]).toStrictEqual([201, undefined]);
    }
    expect(await ask(createOnce('first'))).toMatchObject({ status: 201, body: first.body });
    const pets: { id: number }[] = JSON.parse((await ask(LIST)).body);
    expect(new Set(pets.map(({ id }) => id)).size).toBe(21);

    await stop(service);
    expect(service.stderr).toBe('');
    expect(logged()).toContain(`(${file})`);
    expect(logged().match(/"msg":"request"/g)).toHaveLength(LINES_OF_A_BATCH + 43);
  },
);
