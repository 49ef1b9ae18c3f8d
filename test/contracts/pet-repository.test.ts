import { petRepositoryModel } from './pet-repository-model.ts';
import { petRepositoryContract } from './pet-repository.ts';
import { overStorages } from './storages.ts';

overStorages('PetRepository', petRepositoryContract, petRepositoryModel);
