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

// Only a mongod process can be started with certificates.
const none = (await sharedMongo())?.kind !== 'process';

const textOf = (...files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8')).join('');
const OLD = { ca: textOf(PEM_FILES.root), own: textOf(PEM_FILES.cert, PEM_FILES.key) };
const NEW = { ca: textOf(PEM_FILES.otherAuthority), own: textOf(PEM_FILES.otherAuthority) };

/** A mongod with certificates, which wants one of its clients too, and a client's files, which can be replaced. */
async function tlsMongod() {
  const { path: directory, remove } = await temporaryDirectory('mongod', { inMemory: true });
  onTestFinished(remove);
  const [server, client] = [join(directory, 'server'), join(directory, 'client')];
  const write = (side: string, { ca, own }: typeof OLD) => {
    writeFileSync(`${side}-ca.pem`, ca);
    writeFileSync(`${side}-own.pem`, own);
  };
  const start = async (given: typeof OLD, port = 0) => {
    write(server, given);
    const files = ['--tlsCAFile', `${server}-ca.pem`, '--tlsCertificateKeyFile', `${server}-own.pem`];
    const mongod = await runMongod({ directory, args: ['--tlsMode', 'requireTLS', ...files], port });
    onTestFinished(mongod.kill);
    return mongod;
  };
  const { port, kill } = await start(OLD);
  write(client, OLD);
  const files = `tlsCAFile=${client}-ca.pem&tlsCertificateKeyFile=${client}-own.pem`;
  const url = `mongodb://127.0.0.1:${port}/petstore?tls=true&${files}`;
  await migrate(url);
  const restart = () => kill().then(() => start(NEW, port));
  return { url, address: `127.0.0.1:${port}`, replace: (given: typeof OLD) => write(client, given), restart };
}

describe.skipIf(none)(`certificates of MongoDB${none ? ' (left out: no mongod process)' : ''}`, () => {
  it('are read again when a connection fails, and the log has the newest reason until they are valid', async () => {
    const { url, address, replace, restart } = await tlsMongod();
    const warnings: string[] = [];
    const log = { warn: (line: string) => void warnings.push(line) };
    const { pets, probe } = await openService(url, { log });

    await restart();
    const reason = `MongoDB has no primary; members: ${address}: DEPTH_ZERO_SELF_SIGNED_CERT`;
    await expect.poll(() => warnings.at(-1), { timeout: 20_000 }).toContain(reason);
    await expect(probe.check()).rejects.toThrow(reason);
    replace({ ...NEW, ca: '' });
    const unusable =
      /^the certificates of MongoDB cannot be used, so the old ones stay: error:.*no start line$/;
    await expect.poll(() => warnings.at(-1)).toMatch(unusable);
    replace(NEW);
    await expect.poll(() => warnings.at(-1)).toBe(`MongoDB has a primary again: ${address}`);
    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
  });

  it('are read again after a SIGHUP, which does not stop the service', async () => {
    const { url, replace, restart } = await tlsMongod();
    const service = runService({ DATABASE_URL: url, API_KEYS: KEY });
    const readyz = `${await service.url()}/readyz`;
    const statusOf = async () => (await fetch(readyz)).status;

    replace({ ...NEW, own: '' });
    service.signal('SIGHUP');
    await service.logged(/the certificates of MongoDB cannot be used, .*/);
    expect(await statusOf()).toBe(200);
    replace(NEW);
    service.signal('SIGHUP');
    await service.logged('the certificates of MongoDB were read again, for new connections');
    await restart();
    await expect.poll(statusOf, { timeout: 20_000 }).toBe(200);
    await stop(service);
    expect(service.log.filter(({ msg }) => String(msg).includes('SELF_SIGNED'))).toStrictEqual([]);
  });
});
