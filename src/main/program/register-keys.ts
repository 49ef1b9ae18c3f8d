import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { mintKey } from '../../adapters/tokens/token.ts';
import { CreateKey, type MintedKey } from '../../application/keys/create-key.ts';
import { RotateKey } from '../../application/keys/rotate-key.ts';
import { GetKey, RevokeKey } from '../../application/keys/stored-keys.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import { provide } from './compose.ts';

/** Given. */
export const KEYS: InjectionToken<ApiKeyRepository> = Symbol('KEYS');
export const MINT: InjectionToken<() => MintedKey> = Symbol('MINT');
export const NOW: InjectionToken<() => Date> = Symbol('NOW');

export function registerKeys(root: DependencyContainer): void {
  root.register(MINT, { useValue: mintKey });
  root.register(NOW, { useValue: () => new Date() });
  provide(root, CreateKey, (c) => new CreateKey(c.resolve(KEYS), c.resolve(MINT), c.resolve(NOW)));
  provide(root, GetKey, (c) => new GetKey(c.resolve(KEYS)));
  provide(root, RevokeKey, (c) => new RevokeKey(c.resolve(KEYS), c.resolve(NOW)));
  provide(root, RotateKey, (c) => new RotateKey(c.resolve(KEYS), c.resolve(CreateKey), c.resolve(NOW)));
}
