// Follows the steps for a new storage in docs/architecture.md with a JSON file that only the tests know.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl, STORAGES } from '../../src/main/config/storages.ts';
import { readConfig } from '../../src/main/config/config.ts';
import { type Service, start } from '../../src/main/service/start.ts';
import { apiKeyRepositoryContract } from '../contracts/api-key-repository.ts';
import { apiKeyRepositoryModel } from '../contracts/api-key-repository-model.ts';
import { idempotencyContract } from '../contracts/idempotency.ts';
import { petArchiveContract } from '../contracts/pet-archive.ts';
import { type PetStore, petRepositoryContract } from '../contracts/pet-repository.ts';
import { petRepositoryModel } from '../contracts/pet-repository-model.ts';
import { ask, KEY } from '../support/client.ts';
import { Command } from '../support/command.ts';
import { JsonApiKeyRepository } from '../support/json-file/api-key-repository.ts';
import { JsonFile } from '../support/json-file/json-file.ts';
import { JsonPetRepository } from '../support/json-file/pet-repository.ts';
import { jsonFileStorage } from '../support/json-file/storage.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** The line that a new storage adds to src/main/storages.ts. */
const storages = [...STORAGES, jsonFileStorage];

petRepositoryContract('JSON file', open);
idempotencyContract('JSON file', open);
petArchiveContract('JSON file', async () => {
  const { path, remove } = await newFile();
  const pets = new JsonPetRepository(new JsonFile(path));
  return { pets, archive: pets, close: remove };
});
apiKeyRepositoryContract('JSON file', async () => {
  const { path, remove } = await newFile();
  const another = async () => new JsonApiKeyRepository(new JsonFile(path));
  return { keys: await another(), another, close: remove };
});
petRepositoryModel(
  'JSON file',
  async () => {
    const path = await removedAfterTest();
    return {
      async open() {
        const pets = new JsonPetRepository(new JsonFile(path));
        return { pets, archive: pets };
      },
    };
  },
  { runs: 5, processes: 'many' },
);
apiKeyRepositoryModel(
  'JSON file',
  async () => {
    const path = await removedAfterTest();
    return { open: async () => ({ keys: new JsonApiKeyRepository(new JsonFile(path)) }) };
  },
  { runs: 5, processes: 'many' },
);

describe('a service on a new storage', () => {
  it('keeps its pets and API keys across a restart', async () => {
    const { path, remove } = await newFile();
    onTestFinished(remove);
    const first = await started(path);
    const pet = '{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":"available"}';
    expect(await ask(`${first.url}/v1/pets`, { body: pet })).toMatchObject({ status: 201, body: pet });
    await first.stop();

    const second = await started(path);
    expect(await ask(`${second.url}/v1/pets`)).toMatchObject({ status: 200, body: `[${pet}]` });
    expect(await ask(`${second.url}/readyz`)).toMatchObject({ status: 200 });
  });

  it('answers 503 when the storage fails', async () => {
    const { path, remove } = await newFile();
    onTestFinished(remove);
    const { url } = await started(path);
    await writeFile(path, '{');
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 503 });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 503 });
  });

  it('is reached by every command', async () => {
    const { path, remove } = await newFile();
    onTestFinished(remove);
    const env = { DATABASE_URL: `json:${path}` };
    const petstore = async (...args: string[]) => {
      const command = new Command(args, env, { storages });
      expect(await command.ended, command.stderr).toBe(0);
      return command.stdout;
    };
    expect(await petstore('import', 'examples/pets.ndjson')).toBe('imported 300 pets\n');
    const token = (await petstore('keys', 'create', '--label', 'till')).trim();
    expect(await petstore('keys', 'list')).toContain('till');
    expect(await petstore('export')).toBe(await readFile('examples/pets.ndjson', 'utf8'));
    expect(await petstore('copy', '--from', `json:${path}`, '--to', `json:${path}-2`)).toBe(
      'copied 300 pets\ncopied 1 API key\n',
    );
    const { url } = await started(`${path}-2`);
    expect(await ask(`${url}/v1/pets/300`, { key: token })).toMatchObject({ status: 200 });
  });

  it('is unknown when its line is missing', () => {
    expect(parseDatabaseUrl('json:pets.json', STORAGES)).toBeUndefined();
    expect(() => readConfig({ DATABASE_URL: 'json:' }, storages)).toThrow(
      'DATABASE_URL must be sqlite:PATH, mongodb://HOST/DATABASE, memory: or json:PATH',
    );
  });
});

async function newFile() {
  const { path, remove } = await temporaryDirectory('json-file', { inMemory: true });
  return { path: join(path, 'pets.json'), remove };
}

async function removedAfterTest(): Promise<string> {
  const { path, remove } = await newFile();
  onTestFinished(remove);
  return path;
}

async function open(lastId = 0n): Promise<PetStore> {
  const { path, remove } = await newFile();
  const another = async () => new JsonPetRepository(new JsonFile(path));
  const pets = await another();
  await pets.reserve(lastId);
  return { pets, another, close: remove };
}

async function started(path: string): Promise<Service> {
  const config = readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: `json:${path}` }, storages);
  const service = await start({ ...config, tls: undefined }, pino({ level: 'silent' }, { write: () => {} }));
  onTestFinished(async () => void (await service.stop()));
  return service;
}
