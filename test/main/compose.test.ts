import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { knownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import { compose } from '../../src/main/program/compose.ts';
import { APP, KNOWN_KEYS, registerHttp, SETTINGS } from '../../src/main/program/register-http.ts';
import { KEYS, registerKeys } from '../../src/main/program/register-keys.ts';
import { CHECKED, registerMaintenance, SOURCE, TARGET } from '../../src/main/program/register-maintenance.ts';
import { CREATE_PET, LIST_PETS, PETS, registerPets } from '../../src/main/program/register-pets.ts';
import { ROOT } from '../support/process.ts';
import { RecordingLog } from '../support/recording-log.ts';

type Root = ReturnType<typeof compose>;
type Token = Parameters<Root['resolve']>[0];

/** With all that the service and the commands give. `tokens` are of what is made from it. */
function everything() {
  const tokens: Token[] = [];
  const watch = (root: Root) => {
    const register: (token: Token, provider: never) => Root = root.register.bind(root);
    root.register = (token: Token, provider: unknown) => {
      tokens.push(token);
      return register(token, provider as never);
    };
  };
  const root = compose(watch, registerPets, registerKeys, registerMaintenance, registerHttp);
  const opened = {
    archive: new InMemoryPetRepository(),
    keys: new InMemoryApiKeyRepository(),
    inspector: { async *findings() {} },
    close: async () => {},
  };
  for (const token of [SOURCE, TARGET, CHECKED]) root.register(token, { useValue: opened });
  const settings = { publicUrl: undefined, rateLimit: undefined, trustProxy: false, corsOrigins: [] };
  const probe = { check: async () => ({ lastId: 0n }) };
  const process = { probe, log: new RecordingLog(), isDraining: () => false };
  root.register(SETTINGS, { useValue: { ...settings, ...process } });
  root.register(KNOWN_KEYS, { useValue: [knownKey({ label: 'ci', token: 'ci-0123456789abcdef' })] });
  root.register(KEYS, { useValue: opened.keys }).register(PETS, { useValue: opened.archive });
  return { root, tokens };
}

it('every part can be made, and the service and the commands resolve no other', () => {
  const { root, tokens } = everything();
  for (const token of tokens) expect(root.resolve(token)).toBeDefined();
  const names = new Set(
    tokens.map((token) => (typeof token === 'symbol' ? token.description : (token as { name: string }).name)),
  );
  const rooms = ['command-line', 'service'].map((room) => join(ROOT, 'src/main', room));
  const sources = rooms.flatMap((room) =>
    readdirSync(room).map((file) => readFileSync(join(room, file), 'utf8')),
  );
  const resolved = new Set(Array.from(sources.join('').matchAll(/\.resolve\((\w+)\)/g), ([, name]) => name));
  expect(resolved.size).toBeGreaterThan(10);
  expect(resolved.difference(names)).toStrictEqual(new Set());
});

it('a root makes a part once, and shares it with no other root of the process', async () => {
  const [one, other] = [everything().root, everything().root];
  expect(one.resolve(APP)).toBe(one.resolve(APP));
  expect(one.resolve(APP)).not.toBe(other.resolve(APP));
  await one.resolve(CREATE_PET).execute({ name: 'Rex', categoryId: 1n });
  expect(await other.resolve(LIST_PETS).execute({})).toStrictEqual({ pets: [] });
});
