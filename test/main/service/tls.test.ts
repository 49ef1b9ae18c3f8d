import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { expect, it } from 'vitest';
import { CREATED, KEY, silentServer, startStalledCreate } from '../../support/client.ts';
import { DONE, type Program, ROOT, run, runService, stop } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { PEM_FILES, ROOT_CERT } from '../../support/tls/pem-files.ts';

const TLS = { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key };
const READ_AGAIN = 'TLS_CERT and TLS_KEY were read again, for new connections';
const REFUSED_PAIR = 'TLS_CERT and TLS_KEY were read again and refused; the old pair stays in use';

/** Starts a service with copies of a certificate and its key. `replace` replaces both copies. */
async function startWithCopies(env: Record<string, string> = {}) {
  const directory = await testDirectory();
  const [TLS_CERT, TLS_KEY] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const replace = async (cert: string, key: string) => {
    await copyFile(cert, TLS_CERT);
    await copyFile(key, TLS_KEY);
  };
  await replace(PEM_FILES.cert, PEM_FILES.key);
  const service = runService({ API_KEYS: KEY, TLS_CERT, TLS_KEY, ...env });
  return { service, url: await service.url(), replace };
}

/** Returns the subject of the certificate that a new connection receives. */
async function subjectAt(url: string): Promise<string | undefined> {
  const socket = connectTls({ host: '127.0.0.1', port: Number(new URL(url).port), ca: ROOT_CERT });
  try {
    await once(socket, 'secureConnect');
    return socket.getPeerX509Certificate()?.subject;
  } finally {
    socket.destroy();
  }
}

const subjectOf = async (file: string) => new X509Certificate(await readFile(file)).subject;
const OLD_SUBJECT = await subjectOf(PEM_FILES.cert);
const NEW_SUBJECT = await subjectOf(PEM_FILES.renewedCert);

const messages = ({ log }: Program) => log.map(({ msg }) => msg);

it('the start prints a curl command that works with any certificate, and logs a warning if the certificate has expired', async () => {
  const service = runService({ ...TLS, TLS_CERT: PEM_FILES.expiredCert });
  const [line] = await service.printed(/curl --insecure -H .*$/m, 'stderr');
  expect(await run('bash', ['-c', `${line} --silent --show-error`]).succeeded()).toBe('[]');
  const msg = expect.stringMatching(/^the certificate in TLS_CERT expired on \d{4}-\d\d-\d\dT/);
  expect(service.log[0]).toMatchObject({ level: 40, msg });
});

it('SIGHUP reloads the certificate for new connections, refuses an invalid pair, and lets a request in flight finish', async () => {
  const { service, url, replace } = await startWithCopies();
  expect(messages(service)).toStrictEqual([`listening on ${url} (page at ${url}/docs)`]);
  expect(await subjectAt(url)).toBe(OLD_SUBJECT);
  const { complete } = await startStalledCreate(url);

  await replace(PEM_FILES.renewedCert, PEM_FILES.key);
  service.signal('SIGHUP');
  expect(await service.logged(REFUSED_PAIR)).toMatchObject({
    level: 50,
    problems: ['TLS_KEY is not the private key of TLS_CERT in PEM form: key values mismatch'],
  });
  expect(await subjectAt(url)).toBe(OLD_SUBJECT);

  await replace(PEM_FILES.renewedCert, PEM_FILES.renewedKey);
  expect(await subjectAt(url)).toBe(OLD_SUBJECT);
  service.signal('SIGHUP');
  expect(await service.logged(READ_AGAIN)).toMatchObject({ level: 30, validTo: expect.any(String) });
  expect(await subjectAt(url)).toBe(NEW_SUBJECT);

  await replace(PEM_FILES.expiredCert, PEM_FILES.key);
  service.signal('SIGHUP');
  expect(await service.logged(/the certificate in TLS_CERT expired on [^"]*/)).toMatchObject({ level: 40 });

  // `CREATED` has the header `Connection: close`, which the service sends only during a drain.
  service.signal('SIGTERM');
  await service.logged('shutting down');
  expect(await complete()).toStrictEqual(CREATED);
  expect(await service.ended).toStrictEqual(DONE);
  expect(service.log.find(({ msg }) => msg === 'shutting down')).toMatchObject({ reason: 'SIGTERM' });
  expect(service.stderr).toBe('');
});

it('SIGHUP does not end the start of a service with TLS while it waits for the storage, but SIGTERM does', async () => {
  const { port, asked } = await silentServer();
  const service = runService({ DATABASE_URL: `mongodb://127.0.0.1:${port}/petstore`, ...TLS });
  await asked;
  service.signal('SIGHUP');
  await stop(service);
  expect(service.log).toMatchObject([{ msg: 'shutting down', reason: 'SIGTERM' }]);
  expect(service.stderr).toBe('');
});

it('the commands of docs/how-to/use-tls.md make and use a certificate', async ({ skip }) => {
  const openssl = run('openssl', ['version']);
  const versionCheck = await openssl.ended.catch(() => undefined);
  if (versionCheck?.code !== 0) skip('no openssl on PATH: install it');
  const document = await readFile(join(ROOT, 'docs/how-to/use-tls.md'), 'utf8');
  const directory = await testDirectory();
  const [, text = ''] = /^```sh\n(openssl .*?)^```$/ms.exec(document) ?? [];
  const commands = text.replaceAll(/\b(cert|key)\.pem/g, `${directory}/$1.pem`).replace('npm', 'exec npm');
  const service = run('bash', ['-euo', 'pipefail', '-c', commands], { PORT: '0', DATABASE_URL: 'memory:' });
  const [, url = ''] = await service.printed(/'(https:\S+)\/v1\/pets'/, 'stderr');
  const curl = run('curl', ['--silent', '--show-error', '--cacert', `${directory}/cert.pem`, `${url}/livez`]);
  expect(await curl.succeeded()).toBe('{"status":"ok"}');
  service.signal('SIGTERM');
  expect((await service.ended).signal).toBeNull();
});
