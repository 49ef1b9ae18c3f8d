import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { KEY } from '../../support/client.ts';
import { openService } from '../../support/mongo-database.ts';
import { runMongod } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { runService, stop } from '../../support/process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { PEM_FILES } from '../../support/tls/pem-files.ts';

// These tests start a mongod with certificates. They need a mongod binary, so a MongoDB in a container is not enough.
const skipNote = (await sharedMongo())?.kind === 'process' ? '' : ' (left out: no mongod process)';

const readFiles = (...files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8')).join('');
/**
 * The contents of the certificate files of the server or of the client. `ca`: the authority that the owner of the files
 * trusts. `own`: the certificate that the owner sends, with the private key.
 */
const OLD_FILES = { ca: readFiles(PEM_FILES.root), own: readFiles(PEM_FILES.cert, PEM_FILES.key) };
const NEW_FILES = { ca: readFiles(PEM_FILES.otherAuthority), own: readFiles(PEM_FILES.otherAuthority) };

/**
 * Starts a mongod that uses TLS, and that requires a certificate from every client. `replaceFiles` replaces the files
 * of the client. `restartWithNewFiles` restarts the mongod, which then uses `NEW_FILES`.
 */
async function startTlsMongod() {
  const { path: directory, remove } = await temporaryDirectory('mongod', { inMemory: true });
  onTestFinished(remove);
  const [server, client] = [join(directory, 'server'), join(directory, 'client')];
  const writeFiles = (side: string, { ca, own }: typeof OLD_FILES) => {
    writeFileSync(`${side}-ca.pem`, ca);
    writeFileSync(`${side}-own.pem`, own);
  };
  const start = async (files: typeof OLD_FILES, port = 0) => {
    writeFiles(server, files);
    const fileArgs = ['--tlsCAFile', `${server}-ca.pem`, '--tlsCertificateKeyFile', `${server}-own.pem`];
    const mongod = await runMongod({ directory, args: ['--tlsMode', 'requireTLS', ...fileArgs], port });
    onTestFinished(mongod.kill);
    return mongod;
  };
  const { port, kill } = await start(OLD_FILES);
  writeFiles(client, OLD_FILES);
  const fileOptions = `tlsCAFile=${client}-ca.pem&tlsCertificateKeyFile=${client}-own.pem`;
  const url = `mongodb://127.0.0.1:${port}/petstore?tls=true&${fileOptions}`;
  await migrate(url);
  const restartWithNewFiles = () => kill().then(() => start(NEW_FILES, port));
  const replaceFiles = (files: typeof OLD_FILES) => writeFiles(client, files);
  return { url, address: `127.0.0.1:${port}`, replaceFiles, restartWithNewFiles };
}

describe.skipIf(skipNote !== '')(`the certificate files of a MongoDB client${skipNote}`, () => {
  it('are read again after a failed connection, and the log has the newest error until they are valid', async () => {
    const { url, address, replaceFiles, restartWithNewFiles } = await startTlsMongod();
    const warnings: string[] = [];
    const log = { warn: (line: string) => void warnings.push(line) };
    const { pets, probe } = await openService(url, { log });

    await restartWithNewFiles();
    const reason = `MongoDB has no primary; members: ${address}: DEPTH_ZERO_SELF_SIGNED_CERT`;
    await expect.poll(() => warnings.at(-1), { timeout: 20_000 }).toContain(reason);
    await expect(probe.check()).rejects.toThrow(reason);
    replaceFiles({ ...NEW_FILES, ca: '' });
    const unusableFilesLine =
      /^the new certificates for MongoDB cannot be used, so the old ones stay in use: error:.*no start line$/;
    await expect.poll(() => warnings.at(-1)).toMatch(unusableFilesLine);
    replaceFiles(NEW_FILES);
    await expect.poll(() => warnings.at(-1)).toBe(`MongoDB has a primary again: ${address}`);
    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
  });

  it('are read again when the service receives SIGHUP, and unusable files do not interrupt the service', async () => {
    const { url, replaceFiles, restartWithNewFiles } = await startTlsMongod();
    const service = runService({ DATABASE_URL: url, API_KEYS: KEY });
    const readyz = `${await service.url()}/readyz`;
    const readStatus = async () => (await fetch(readyz)).status;

    replaceFiles({ ...NEW_FILES, own: '' });
    service.signal('SIGHUP');
    await service.logged(/the new certificates for MongoDB cannot be used, .*/);
    expect(await readStatus()).toBe(200);
    replaceFiles(NEW_FILES);
    service.signal('SIGHUP');
    await service.logged('the certificates of MongoDB were read again, for new connections');
    await restartWithNewFiles();
    await expect.poll(readStatus, { timeout: 20_000 }).toBe(200);
    await stop(service);
    // The service read the new files before the server restarted, so no connection failed because of a certificate.
    expect(service.log.filter(({ msg }) => String(msg).includes('SELF_SIGNED'))).toStrictEqual([]);
  });
});
