import { globSync, readFileSync, rmSync, statSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../src/main/config/config.ts';
import { VARIABLE_NAMES } from '../../src/main/config/variables.ts';
import { docker } from './docker.ts';
import { ROOT, run } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

type ComposeService = {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
};

const FOLDER = join(ROOT, 'deploy');
const FILE = join(FOLDER, 'compose.yaml');
const { services, volumes } = parse(await readFile(FILE, 'utf8'), { merge: true }) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const members = Object.keys(services).filter((name) => name.startsWith('mongo-'));

it('compose.yaml mounts files and volumes that exist, and uses every volume', async () => {
  const sources = Object.values(services).flatMap((service) =>
    (service.volumes ?? []).map((mount) => mount.split(':')[0] ?? ''),
  );
  const files = sources.filter((source) => source.startsWith('.'));
  for (const file of files) await access(join(FOLDER, file));
  const volumeNames = sources.filter((source) => !source.startsWith('.'));
  expect([...new Set(volumeNames)].toSorted()).toStrictEqual(Object.keys(volumes).toSorted());
});

it('compose.yaml sets the parameter that makes the MongoDB members replace an unresponsive primary soon', () => {
  for (const name of members) {
    expect(services[name]?.command?.slice(-2)).toStrictEqual([
      '--setParameter',
      'oplogNetworkTimeoutBufferSeconds=1',
    ]);
  }
});

it('compose.yaml publishes only one port, and only on loopback', () => {
  expect(Object.values(services).flatMap(({ ports = [] }) => ports)).toStrictEqual([
    '127.0.0.1:${PORT:-8080}:8080',
  ]);
});

it('compose.yaml names each third-party image by its digest', () => {
  const images = Object.values(services).map(({ image }) => image);
  expect([...new Set(images)]).toStrictEqual([
    '${PETSTORE_IMAGE:-petstore}',
    expect.stringMatching(/^\$\{MONGO_IMAGE:-mongo:8@sha256:[0-9a-f]{64}\}$/),
    expect.stringMatching(/^\$\{HAPROXY_IMAGE:-haproxy:3\.2@sha256:[0-9a-f]{64}\}$/),
  ]);
});

it('compose.yaml and make-secrets.js name the same members of the replica set', async () => {
  const hosts = members.map((name) => `${name}:27017`).join(',');
  expect(members).toHaveLength(3);
  expect(services['replica-set']?.environment?.['MEMBERS']).toBe(hosts);
  expect(await readFile(join(FOLDER, 'compose/make-secrets.js'), 'utf8')).toContain(`'${hosts}'`);
});

it('compose.yaml starts the instances that the configuration of the proxy names', async () => {
  const config = await readFile(join(FOLDER, 'haproxy/haproxy.cfg'), 'utf8');
  const hosts = Array.from(config.matchAll(/^ {2}server \S+ "\$\{\w+-(\S+):3000\}"$/gm), ([, host]) => host);
  expect(hosts).toStrictEqual(Object.keys(services).filter((name) => name.startsWith('petstore-')));
});

it('compose.yaml sets only variables that the service knows', () => {
  for (const name of ['petstore-1', 'petstore-2', 'migrate']) {
    const names = Object.keys(services[name]?.environment ?? {});
    expect(VARIABLE_NAMES, name).toEqual(expect.arrayContaining(names));
  }
});

it('docker compose accepts compose.yaml', async (context) => {
  const version = await docker('compose', 'version').catch(() => undefined);
  context.skip(version === undefined, 'no docker compose: install its plugin');
  const config = await docker('compose', '--file', FILE, 'config', '--services');
  expect(config.split('\n').toSorted()).toStrictEqual(Object.keys(services).toSorted());
});

const makeSecrets = (folder: string) =>
  run(process.execPath, [join(FOLDER, 'compose/make-secrets.js'), folder]).succeeded();

it('make-secrets.js writes secrets that the service accepts, makes each file readable by only one user, and keeps existing files', async (context) => {
  context.skip(process.getuid?.() !== 0, 'only root can give files to other users');
  const folder = await testDirectory();
  await makeSecrets(folder);
  const names = globSync('*/*', { cwd: folder });
  const permissions = names.map((name) => {
    const { uid, mode } = statSync(join(folder, name));
    return [name, { uid, mode: mode & 0o777 }] as const;
  });
  expect(Object.fromEntries(permissions)).toStrictEqual({
    'migrator/env': { uid: 1000, mode: 0o400 },
    'mongodb/env': { uid: 999, mode: 0o400 },
    'mongodb/keyfile': { uid: 999, mode: 0o400 },
    'service/env': { uid: 1000, mode: 0o400 },
  });

  const contentOf = (name: string) => readFileSync(join(folder, name), 'utf8');
  const envOf = (name: string) => ({ ...parseEnv(contentOf(name)) });
  expect(contentOf('mongodb/keyfile')).toMatch(/^[A-Za-z0-9+/]{1008}$/);
  const passwords = envOf('mongodb/env');
  const service = envOf('service/env');
  const hosts = 'mongo-1:27017,mongo-2:27017,mongo-3:27017/petstore?replicaSet=petstore';
  expect(service).toStrictEqual({
    DATABASE_URL: `mongodb://petstore:${passwords['SERVICE_PASSWORD']}@${hosts}`,
    API_KEYS: expect.stringMatching(/^compose=[\w-]{32}$/),
  });
  expect(readConfig(service).apiKeys).toMatchObject([{ label: 'compose' }]);
  expect(envOf('migrator/env')).toStrictEqual({
    DATABASE_URL: `mongodb://petstore-migrator:${passwords['MIGRATOR_PASSWORD']}@${hosts}`,
  });
  expect(new Set(Object.values(passwords)).size).toBe(3);

  const contents = names.map(contentOf);
  await makeSecrets(folder);
  expect(names.map(contentOf)).toStrictEqual(contents);
  // The script writes this file last. Without the file, the state is as if the first run had been killed.
  rmSync(join(folder, 'mongodb/env'));
  await makeSecrets(folder);
  expect(service['DATABASE_URL']).not.toContain(envOf('mongodb/env')['SERVICE_PASSWORD']);
});
