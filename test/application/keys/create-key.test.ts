import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { type CreatedKey, CreateKey } from '../../../src/application/keys/create-key.ts';
import { newApiKey } from '../../../src/domain/api-key.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');

it('CreateKey stores a key with the fields of the draft, delivers it with its token, and returns both', async () => {
  const keys = new InMemoryApiKeyRepository();
  const rateLimit = { requests: 600, seconds: 60 };
  const expiresAt = new Date('2027-11-20T12:00:00.000Z');
  const draft = { label: 'the shop', scopes: ['pets:write'], expiresAt, rateLimit } as const;
  const delivered: CreatedKey[] = [];

  const createKey = new CreateKey(keys, mintKey, () => NOW);
  const created = await createKey.execute(draft, (made) => void delivered.push(made));

  const { key, token } = created;
  expect(delivered).toStrictEqual([created]);
  expect(key).toStrictEqual({ ...newApiKey(draft, NOW), id: idOf(token), digest: digestOf(token) });
  expect(await keys.list()).toStrictEqual([key]);
});
