import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { knownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import { CreateKey } from '../../src/application/keys/create-key.ts';
import { RotateKey } from '../../src/application/keys/rotate-key.ts';
import { GetKey, ListKeys, RevokeKey } from '../../src/application/keys/stored-keys.ts';
import { StoredTokenVerifier } from '../../src/application/keys/token-verifiers.ts';
import { CheckSource } from '../../src/application/maintenance/check-source.ts';
import { CheckStorage } from '../../src/application/maintenance/check-storage.ts';
import { CopyKeys } from '../../src/application/maintenance/copy-keys.ts';
import { CopyPets } from '../../src/application/maintenance/copy-pets.ts';
import { ExportPets } from '../../src/application/maintenance/export-pets.ts';
import { SkipIds } from '../../src/application/maintenance/skip-ids.ts';
import { SCOPES } from '../../src/domain/api-key.ts';
import { compose } from '../../src/main/program/compose.ts';
import { APP, KNOWN_KEYS, registerHttp, SETTINGS, TOKENS } from '../../src/main/program/register-http.ts';
import { KEYS, registerKeys } from '../../src/main/program/register-keys.ts';
import {
  CHECKED,
  PET_SOURCE,
  registerMaintenance,
  SOURCE,
  TARGET,
} from '../../src/main/program/register-maintenance.ts';
import { CREATE_PET, LIST_PETS, PETS, registerPets } from '../../src/main/program/register-pets.ts';
import { ROOT } from '../support/process.ts';
import { RecordingLog } from '../support/recording-log.ts';

const settings = { publicUrl: undefined, rateLimit: undefined, trustProxy: false, corsOrigins: [] };
const probe = { check: async () => ({ lastId: 0n }) };

/** As the service composes it. */
function service() {
  return compose(registerPets, registerKeys, registerHttp)
    .register(PETS, { useValue: new InMemoryPetRepository() })
    .register(KEYS, { useValue: new InMemoryApiKeyRepository() })
    .register(KNOWN_KEYS, { useValue: [knownKey({ label: 'ci', token: 'ci-0123456789abcdef' })] })
    .register(SETTINGS, {
      useValue: { ...settings, probe, log: new RecordingLog(), isDraining: () => false },
    });
}

function keys() {
  return compose(registerKeys).register(KEYS, { useValue: new InMemoryApiKeyRepository() });
}

const opened = {
  archive: new InMemoryPetRepository(),
  keys: new InMemoryApiKeyRepository(),
  inspector: { async *findings() {} },
  close: async () => {},
};

/** With the parts that every command of the file has registered before it resolves the first one. */
const maintenance = {
  reading: () => compose(registerMaintenance).register(SOURCE, { useValue: opened }),
  checking: () => compose(registerMaintenance).register(CHECKED, { useValue: opened }),
  writing: () => compose(registerMaintenance).register(TARGET, { useValue: opened }),
  copying: () => maintenance.reading().register(TARGET, { useValue: opened }),
};

/** What the service and the commands resolve, by its name in their sources. */
const ENTRIES = {
  ListKeys: () => [service().resolve(ListKeys), keys().resolve(ListKeys)],
  StoredTokenVerifier: () => [service().resolve(StoredTokenVerifier)],
  TOKENS: () => [service().resolve(TOKENS)],
  APP: () => [service().resolve(APP)],
  CreateKey: () => [keys().resolve(CreateKey)],
  GetKey: () => [keys().resolve(GetKey)],
  RevokeKey: () => [keys().resolve(RevokeKey)],
  RotateKey: () => [keys().resolve(RotateKey)],
  CheckSource: () => [maintenance.reading().resolve(CheckSource)],
  ExportPets: () => [maintenance.reading().resolve(ExportPets)],
  CheckStorage: () => [maintenance.checking().resolve(CheckStorage)],
  SkipIds: () => [maintenance.writing().resolve(SkipIds)],
  CopyKeys: () => [maintenance.copying().resolve(CopyKeys)],
  CopyPets: () => [
    maintenance.copying().resolve(CopyPets),
    maintenance
      .writing()
      .register(PET_SOURCE, {
        useValue: compose(registerMaintenance).register(SOURCE, { useValue: opened }).resolve(PET_SOURCE),
      })
      .resolve(CopyPets),
  ],
} as const;

describe('the composition root', () => {
  it('makes everything that the service and the commands resolve', () => {
    for (const [name, made] of Object.entries(ENTRIES)) expect(made(), name).not.toContain(undefined);
    const rooms = ['command-line', 'service'].map((room) => join(ROOT, 'src/main', room));
    const sources = rooms.flatMap((room) =>
      readdirSync(room).map((file) => readFileSync(join(room, file), 'utf8')),
    );
    const resolved = sources.join('').matchAll(/\.resolve\((\w+)\)/g);
    expect(new Set(Array.from(resolved, ([, name]) => name))).toStrictEqual(new Set(Object.keys(ENTRIES)));
  });

  it('makes a part once, and shares it with no other root of the process', async () => {
    const [one, other] = [service(), service()];
    expect(one.resolve(APP)).toBe(one.resolve(APP));
    expect(one.resolve(APP)).not.toBe(other.resolve(APP));
    await one.resolve(CREATE_PET).execute({ name: 'Rex', categoryId: 1n });
    expect(await other.resolve(LIST_PETS).execute({})).toStrictEqual({ pets: [] });
  });

  it('names the part that nobody has registered', () => {
    expect(() => compose(registerMaintenance).resolve(SkipIds)).toThrow('TARGET');
  });

  it('knows the keys in the storage and those that it was given', async () => {
    const root = service();
    const { key, token } = await root.resolve(CreateKey).execute({ label: 'till', scopes: SCOPES });
    expect(await root.resolve(TOKENS).verify(token)).toMatchObject({ id: key.id });
    expect(await root.resolve(TOKENS).verify('ci-0123456789abcdef')).toMatchObject({ id: 'ci' });
  });
});
