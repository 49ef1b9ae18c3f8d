import { petArchiveContract } from './pet-archive.ts';
import { overStorages } from './storages.ts';

overStorages('PetArchive', petArchiveContract);
