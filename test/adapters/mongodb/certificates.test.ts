import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrate } from '../../../src/adapters/mongodb/migrate.ts';
import { KEY } from '../../support/client.ts';
import { openService, refusal } from '../../support/mongo-database.ts';
import { runMongod } from '../../support/mongod-process.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { runService, stop } from '../../support/process.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { PEM_FILES } from '../../support/tls/pem-files.ts';

// Only a mongod process can be started with certificates.
const none = (await sharedMongo())?.kind !== 'process';

const read = (file: string) => readFile(file, 'utf8');
const [root, cert, key, other] = await Promise.all(
  [PEM_FILES.root, PEM_FILES.cert, PEM_FILES.key, PEM_FILES.otherAuthority].map(read),
);

type Certificates = { readonly authority: string; readonly own: string };
const OLD = { authority: root!, own: `${cert}${key}` };
const NEW = { authority: other!, own: other! };

const UNUSABLE = / cannot be used, so the old ones stay: error:\S+ routines::no start line$/;

/** A mongod with certificates, which wants one of its clients too, and a client's files, which can be replaced. */
async function tlsMongod() {
  const directory = await temporaryDirectory('mongod', { inMemory: true });
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const pathsOf = (side: string) => ['ca', 'own'].map((name) => join(directory.path, `${side}-${name}.pem`));
  const write = async ([ca, own]: readonly string[], given: Certificates) => {
    await writeFile(ca!, given.authority);
    await writeFile(own!, given.own);
  };
  const [server, client] = [pathsOf('server'), pathsOf('client')];
  const start = async (given: Certificates, port = 0) => {
    await write(server, given);
    const tls = ['--tlsMode', 'requireTLS', '--tlsCAFile', server[0]!, '--tlsCertificateKeyFile', server[1]!];
    const mongod = await runMongod({ directory: directory.path, args: tls, port });
    onTestFinished(mongod.kill);
    return mongod;
  };
  const { port, kill } = await start(OLD);
  const replace = (given: Certificates) => write(client, given);
  await replace(OLD);
  const url = `mongodb://127.0.0.1:${port}/petstore?tls=true&tlsCAFile=${client[0]}&tlsCertificateKeyFile=${client[1]}`;
  await migrate(url);
  return { url, address: `127.0.0.1:${port}`, replace, kill, restart: () => start(NEW, port) };
}

describe.skipIf(none)(`certificates of MongoDB${none ? ' (left out: no mongod process)' : ''}`, () => {
  it('are read again when a connection fails, and the log has the newest reason until they fit', async () => {
    const { url, address, replace, kill, restart } = await tlsMongod();
    const warnings: string[] = [];
    const log = { warn: (line: string) => void warnings.push(line) };
    const { pets, probe } = await openService(url, { log });
    await pets.list({ limit: 1 });

    await kill();
    await restart();
    const reason = `MongoDB has no primary; members: ${address}: self-signed certificate`;
    await expect.poll(() => warnings.at(-1), { timeout: 20_000 }).toContain(reason);
    await expect(probe.check()).rejects.toThrow(reason);
    await replace({ ...NEW, authority: '' });
    await expect.poll(() => warnings.at(-1)).toMatch(UNUSABLE);
    await replace(NEW);
    await expect.poll(() => warnings.at(-1)).toBe(`MongoDB has a primary again: ${address}`);

    expect(await pets.list({ limit: 1 })).toStrictEqual([]);
    await replace({ ...NEW, authority: 'no PEM' });
    expect(await refusal(openService(url))).toMatch(
      /^MongoDB at \S+, database "petstore": error:\S+ routines::no start line$/,
    );
  });

  it('are read again at a SIGHUP, which does not stop a service that has them', async () => {
    const { url, replace, kill, restart } = await tlsMongod();
    const service = runService({ DATABASE_URL: url, API_KEYS: KEY });
    const statusOf = async () => (await fetch(readyz)).status;
    const readyz = `${await service.url()}/readyz`;

    await replace({ ...NEW, own: '' });
    service.signal('SIGHUP');
    await service.logged(/the certificates of MongoDB cannot be used, .*/);
    expect(await statusOf()).toBe(200);
    await replace(NEW);
    service.signal('SIGHUP');
    await service.logged('the certificates of MongoDB were read again, for new connections');
    await kill();
    await restart();
    await expect.poll(statusOf, { timeout: 20_000 }).toBe(200);
    await stop(service);
    expect(service.log.filter(({ msg }) => String(msg).includes('self-signed'))).toStrictEqual([]);
  });
});
