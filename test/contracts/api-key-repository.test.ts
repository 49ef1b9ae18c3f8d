import { apiKeyRepositoryModel } from './api-key-repository-model.ts';
import { apiKeyRepositoryContract } from './api-key-repository.ts';
import { overStorages } from './storages.ts';

overStorages('ApiKeyRepository', apiKeyRepositoryContract, apiKeyRepositoryModel);
