import { expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { type CreatedKey, CreateKey } from '../../../src/application/keys/create-key.ts';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const LATER = new Date('2027-11-20T12:00:00.000Z');

it('CreateKey stores a key with the fields of the draft, hands it over with its token, and returns both', async () => {
  const keys = new InMemoryApiKeyRepository();
  const rateLimit = { requests: 600, seconds: 60 };
  const draft = {
    label: 'the shop',
    scopes: ['pets:write', 'pets:read'],
    expiresAt: LATER,
    rateLimit,
  } as const;
  const handedOver: CreatedKey[] = [];

  const created = await new CreateKey(keys, mintKey, () => NOW).execute(draft, (made) => {
    handedOver.push(made);
  });

  const { key, token } = created;
  expect(handedOver).toStrictEqual([created]);

  expect(key).toStrictEqual({
    id: idOf(token),
    digest: digestOf(token),
    label: 'the shop',
    scopes: ['pets:read', 'pets:write'],
    createdAt: NOW,
    expiresAt: LATER,
    rateLimit,
  });
  expect(await keys.list()).toStrictEqual([key]);
});
