import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OK, success, whole } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import { PAIR, RENEWED_PAIR, ROOT_CERT } from '../../../support/tls/pem-files.ts';
import { list, LIVEZ } from '../raw-requests.ts';

const LIST = list();

/** Longer than any drain here takes. */
const TIMEOUT_MS = 10_000;

/** However it is closed: what the server has not read makes it a reset. */
async function whenClosed(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => void socket.once('close', () => resolve()));
}

/** The socket, after this event. Rejects when it fails before. */
async function opened<S extends Socket>(socket: S, event: string): Promise<S> {
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, event);
  return socket;
}

/** A TCP connection on which the test does all of the talking. */
const dial = ({ port }: Api) => opened(connect({ host: '127.0.0.1', port }), 'connect');

/** A TLS connection, after its handshake. */
const handshake = ({ port }: Api, options: ConnectionOptions = {}) =>
  opened(connectTls({ host: '127.0.0.1', port, ca: ROOT_CERT, ...options }), 'secureConnect');

/** The certificate that a new connection gets. */
async function certificate(api: Api): Promise<string | undefined> {
  const socket = await handshake(api);
  return socket.getPeerX509Certificate()?.fingerprint256;
}

const OLD = new X509Certificate(PAIR.cert).fingerprint256;
const NEW = new X509Certificate(RENEWED_PAIR.cert).fingerprint256;

test('a server with a certificate speaks TLS 1.2 and 1.3, and refuses TLS 1.1', async () => {
  await using api = await startApi({ speaksTls: true });
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await handshake(api, { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
  }
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  await expect(handshake(api, old)).rejects.toThrow(/alert protocol version/);
});

test('a server with a certificate chooses HTTP/1.1, and refuses a client that speaks HTTP/2 only', async () => {
  await using api = await startApi({ speaksTls: true });
  for (const ALPNProtocols of [['h2', 'http/1.1'], ['http/1.1']]) {
    expect((await handshake(api, { ALPNProtocols })).alpnProtocol).toBe('http/1.1');
  }
  await expect(handshake(api, { ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
});

describe('a client that does not complete its TLS handshake', () => {
  // The second connection has the same limit, and must not meet it on a busy machine.
  const limits = { handshakeTimeoutMs: 2_000 };
  const failed = (reason: string) => ({ kind: 'handshake', reason });

  test('is disconnected when it never completes its message, so that a drain waits no longer', async () => {
    await using api = await startApi({ speaksTls: true, limits });
    const socket = await dial(api);
    // The header of a record with 16 KiB, in which a ClientHello begins.
    socket.write(Buffer.from('1603014000010003f7fc0303', 'hex'));
    const drip = setInterval(() => socket.write('x'), 10);
    // Connections are accepted in order, so the server knows the one before.
    await api.get('/livez');
    expect(await api.drain(TIMEOUT_MS)).toBe(0);
    clearInterval(drip);
    expect(api.log.connectionErrors).toStrictEqual([failed('ERR_TLS_HANDSHAKE_TIMEOUT')]);
  });

  test('is disconnected and reported when it speaks plain HTTP or anything else', async () => {
    await using api = await startApi({ speaksTls: true });
    for (const bytes of ['rubbish\r\n\r\n', LIVEZ]) {
      const socket = await dial(api);
      socket.write(bytes);
      await whenClosed(socket);
    }
    await expect(handshake(api, { ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
    expect(api.log.connectionErrors).toStrictEqual([
      failed('ERR_SSL_WRONG_VERSION_NUMBER'),
      { kind: 'not-tls' },
      failed('ERR_SSL_NO_APPLICATION_PROTOCOL'),
    ]);
    expect(whole(await api.get('/livez'))).toStrictEqual(OK);
    expect(await api.log.record(0)).toMatchObject({ route: '/livez' });
  });

  test('is not reported when it disconnects, as a health check of the port does', async () => {
    await using api = await startApi({ speaksTls: true });
    const [ended, reset] = [await dial(api), await dial(api)];
    ended.end();
    reset.resetAndDestroy();
    await whenClosed(ended);
    expect(whole(await api.get('/livez'))).toStrictEqual(OK);
    expect(api.log.connectionErrors).toStrictEqual([]);
  });

  test('counts toward the limit of connections', async () => {
    await using api = await startApi({ speaksTls: true, limits: { maxConnections: 2 } });
    const silent = [await dial(api), await dial(api)];
    await expect(handshake(api)).rejects.toThrow(/disconnected/);
    expect(await api.log.connectionErrorAt(0)).toStrictEqual({ kind: 'refused' });
    for (const socket of silent) socket.destroy();
  });
});

test('a drain waits at most its timeout for a client without a completed handshake, and does not count this client', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ speaksTls: true, pets, limits: { handshakeTimeoutMs: 3_600_000 } });
  await dial(api);
  await api.connect(LIST);
  await pets.calls(1);
  expect(await api.drain(50)).toBe(1);
});

test('a drain answers a client whose handshake was in progress', async () => {
  await using api = await startApi({ speaksTls: true });
  const tcp = await dial(api);
  await api.get('/livez');
  const drained = api.drain(TIMEOUT_MS);
  const socket = connectTls({ socket: tcp, ca: ROOT_CERT });
  socket.write(LIVEZ);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  expect(bytes.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n/);
  expect(await drained).toBe(0);
});

describe('a renewed certificate', () => {
  test('is used for new connections, and existing connections continue', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ speaksTls: true, pets });
    expect(await certificate(api)).toBe(OLD);
    const connection = await api.connect(LIST);
    await pets.calls(1);

    api.server.renewCertificate(RENEWED_PAIR);

    expect(await certificate(api)).toBe(NEW);
    pets.release();
    expect(whole(await connection.answer())).toStrictEqual(success(200, '[]'));
    await connection.send(LIVEZ);
    expect(whole(await connection.answer())).toStrictEqual(OK);
    expect(api.log.connectionErrors).toStrictEqual([]);
  });

  test('is ignored without TLS', async () => {
    await using api = await startApi({ speaksTls: false });
    expect(() => api.server.renewCertificate(PAIR)).not.toThrow();
  });

  test('is not used when it is malformed', async () => {
    await using api = await startApi({ speaksTls: true });
    expect(() => api.server.renewCertificate({ cert: 'x', key: PAIR.key })).toThrow(Error);
    expect(() => api.server.renewCertificate({ cert: RENEWED_PAIR.cert, key: PAIR.key })).toThrow(
      /key values mismatch/,
    );
    expect(await certificate(api)).toBe(OLD);
  });

  test('replaces the old certificate even if a client resumes a session of the old one', async () => {
    await using api = await startApi({ speaksTls: true });
    const first = await handshake(api, { maxVersion: 'TLSv1.2' });
    const session = first.getSession();
    expect((await handshake(api, { maxVersion: 'TLSv1.2', session })).isSessionReused()).toBe(true);
    api.server.renewCertificate(RENEWED_PAIR);
    const again = await handshake(api, { maxVersion: 'TLSv1.2', session });
    expect(again.isSessionReused()).toBe(false);
    expect(again.getPeerX509Certificate()?.fingerprint256).toBe(NEW);
  });
});
