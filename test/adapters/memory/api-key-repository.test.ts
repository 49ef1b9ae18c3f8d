import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { apiKeyRepositoryContract } from '../../contracts/api-key-repository.ts';

apiKeyRepositoryContract('memory', async () => ({ keys: new InMemoryApiKeyRepository() }), {
  another: 'the repository is the store',
});
