import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OK, success, brief } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { HeldPetRepository } from '../../../support/pets.ts';
import { PAIR, RENEWED_PAIR, ROOT_CERT } from '../../../support/tls/pem-files.ts';
import { list, LIVEZ } from '../raw-requests.ts';

const LIST = list();

/** The timeout of a drain. This time is longer than the drains in this file take. */
const TIMEOUT_MS = 10_000;

/**
 * Waits for the end of the connection. The connection may end with a reset, because the server has not read all bytes.
 */
async function waitForClose(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => void socket.once('close', () => resolve()));
}

/** Waits for the event, and returns the socket. Rejects if the socket fails first. */
async function waitForEvent<S extends Socket>(socket: S, event: string): Promise<S> {
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  await once(socket, event);
  return socket;
}

/** Opens a TCP connection, on which only the test sends bytes. No TLS handshake begins by itself. */
const openTcp = ({ port }: Api) => waitForEvent(connect({ host: '127.0.0.1', port }), 'connect');

/** Opens a TLS connection, and completes its handshake. */
const openTls = ({ port }: Api, options: ConnectionOptions = {}) =>
  waitForEvent(connectTls({ host: '127.0.0.1', port, ca: ROOT_CERT, ...options }), 'secureConnect');

/** The fingerprint of the certificate that the server uses for a new connection. */
async function fingerprintOf(api: Api): Promise<string | undefined> {
  const socket = await openTls(api);
  return socket.getPeerX509Certificate()?.fingerprint256;
}

const OLD_FINGERPRINT = new X509Certificate(PAIR.cert).fingerprint256;
const NEW_FINGERPRINT = new X509Certificate(RENEWED_PAIR.cert).fingerprint256;

test('a server with a certificate speaks TLS 1.2 and 1.3, and refuses TLS 1.1', async () => {
  await using api = await startApi({ speaksTls: true });
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await openTls(api, { minVersion: version, maxVersion: version });
    expect(socket.getProtocol()).toBe(version);
  }
  const tls11Only = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
  await expect(openTls(api, tls11Only)).rejects.toThrow(/alert protocol version/);
});

test('a server with a certificate chooses HTTP/1.1, and refuses a client that speaks HTTP/2 only', async () => {
  await using api = await startApi({ speaksTls: true });
  for (const ALPNProtocols of [['h2', 'http/1.1'], ['http/1.1']]) {
    expect((await openTls(api, { ALPNProtocols })).alpnProtocol).toBe('http/1.1');
  }
  await expect(openTls(api, { ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
});

describe('a client that does not complete its TLS handshake', () => {
  // The limit also applies to the client that sends valid requests. The limit is long enough for this client on a busy
  // machine.
  const limits = { handshakeTimeoutMs: 2_000 };
  const handshakeError = (reason: string) => ({ kind: 'handshake', reason });

  test('is disconnected at the time limit of the handshake, and a drain then waits no longer for this client', async () => {
    await using api = await startApi({ speaksTls: true, limits });
    const socket = await openTcp(api);
    // The header of a record with 16 KiB, in which a ClientHello begins.
    socket.write(Buffer.from('1603014000010003f7fc0303', 'hex'));
    const sending = setInterval(() => socket.write('x'), 10);
    // The server accepts connections in order. After this answer, it has accepted the connection above.
    await api.get('/livez');
    expect(await api.drain(TIMEOUT_MS)).toBe(0);
    clearInterval(sending);
    expect(api.log.connectionErrors).toStrictEqual([handshakeError('ERR_TLS_HANDSHAKE_TIMEOUT')]);
  });

  test('is disconnected and reported if it does not speak TLS, or offers no HTTP/1.1', async () => {
    await using api = await startApi({ speaksTls: true });
    for (const bytes of ['rubbish\r\n\r\n', LIVEZ]) {
      const socket = await openTcp(api);
      socket.write(bytes);
      await waitForClose(socket);
    }
    await expect(openTls(api, { ALPNProtocols: ['h2'] })).rejects.toThrow(/no application protocol/);
    expect(api.log.connectionErrors).toStrictEqual([
      handshakeError('ERR_SSL_WRONG_VERSION_NUMBER'),
      { kind: 'not-tls' },
      handshakeError('ERR_SSL_NO_APPLICATION_PROTOCOL'),
    ]);
    expect(brief(await api.get('/livez'))).toStrictEqual(OK);
    expect(await api.log.record(0)).toMatchObject({ route: '/livez' });
  });

  test('is not reported if it disconnects, as a health check of the port does', async () => {
    await using api = await startApi({ speaksTls: true });
    const [endedSocket, resetSocket] = [await openTcp(api), await openTcp(api)];
    endedSocket.end();
    resetSocket.resetAndDestroy();
    await waitForClose(endedSocket);
    expect(brief(await api.get('/livez'))).toStrictEqual(OK);
    expect(api.log.connectionErrors).toStrictEqual([]);
  });

  test('counts toward the limit of connections', async () => {
    await using api = await startApi({ speaksTls: true, limits: { maxConnections: 2 } });
    const silentSockets = [await openTcp(api), await openTcp(api)];
    await expect(openTls(api)).rejects.toThrow(/disconnected/);
    expect(await api.log.connectionErrorAt(0)).toStrictEqual({ kind: 'refused' });
    for (const socket of silentSockets) socket.destroy();
  });
});

test('a drain waits until its timeout for a client that does not complete its TLS handshake, and does not count this client', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ speaksTls: true, pets, limits: { handshakeTimeoutMs: 3_600_000 } });
  await openTcp(api);
  await api.connect(LIST);
  await pets.calls(1);
  expect(await api.drain(50)).toBe(1);
});

test('a drain answers a client that connected before the drain and completes its TLS handshake during the drain', async () => {
  await using api = await startApi({ speaksTls: true });
  const tcp = await openTcp(api);
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
    expect(await fingerprintOf(api)).toBe(OLD_FINGERPRINT);
    const connection = await api.connect(LIST);
    await pets.calls(1);

    api.server.renewCertificate(RENEWED_PAIR);

    expect(await fingerprintOf(api)).toBe(NEW_FINGERPRINT);
    pets.release();
    expect(brief(await connection.answer())).toStrictEqual(success(200, '[]'));
    await connection.send(LIVEZ);
    expect(brief(await connection.answer())).toStrictEqual(OK);
    expect(api.log.connectionErrors).toStrictEqual([]);
  });

  test('is ignored by a server without TLS', async () => {
    await using api = await startApi({ speaksTls: false });
    expect(() => api.server.renewCertificate(PAIR)).not.toThrow();
  });

  test('is not used if the certificate or its private key is wrong', async () => {
    await using api = await startApi({ speaksTls: true });
    expect(() => api.server.renewCertificate({ cert: 'x', key: PAIR.key })).toThrow(Error);
    expect(() => api.server.renewCertificate({ cert: RENEWED_PAIR.cert, key: PAIR.key })).toThrow(
      /key values mismatch/,
    );
    expect(await fingerprintOf(api)).toBe(OLD_FINGERPRINT);
  });

  test('is used even if a client tries to resume a session with the old certificate', async () => {
    await using api = await startApi({ speaksTls: true });
    const oldConnection = await openTls(api, { maxVersion: 'TLSv1.2' });
    const session = oldConnection.getSession();
    expect((await openTls(api, { maxVersion: 'TLSv1.2', session })).isSessionReused()).toBe(true);
    api.server.renewCertificate(RENEWED_PAIR);
    const newConnection = await openTls(api, { maxVersion: 'TLSv1.2', session });
    expect(newConnection.isSessionReused()).toBe(false);
    expect(newConnection.getPeerX509Certificate()?.fingerprint256).toBe(NEW_FINGERPRINT);
  });
});
