import type { DependencyContainer, InjectionToken } from 'tsyringe';
import { ArchiveSource } from '../../application/maintenance/archive-source.ts';
import { CheckStorage } from '../../application/maintenance/check-storage.ts';
import { CopyKeys } from '../../application/maintenance/copy-keys.ts';
import { CopyPets } from '../../application/maintenance/copy-pets.ts';
import { ExportPets } from '../../application/maintenance/export-pets.ts';
import { SkipIds } from '../../application/maintenance/skip-ids.ts';
import { fingerprintOf } from '../../application/pets/create-pet.ts';
import type { PetSource } from '../../application/ports/pet-archive.ts';
import type {
  CheckableStorage,
  ReadableStorage,
  WritableStorage,
} from '../../application/ports/storage-kind.ts';
import type { Pet } from '../../domain/pet.ts';
import { provide } from './compose.ts';
import { sha256 } from './register-pets.ts';

// Given: what the command has opened.
export const SOURCE: InjectionToken<ReadableStorage> = Symbol('SOURCE');
export const TARGET: InjectionToken<WritableStorage> = Symbol('TARGET');
export const CHECKED: InjectionToken<CheckableStorage> = Symbol('CHECKED');
/** The pets to copy: by default those of the source. */
export const PET_SOURCE: InjectionToken<PetSource> = Symbol('PET_SOURCE');

const fingerprint = (pet: Pet) => fingerprintOf(pet, sha256);

export function registerMaintenance(root: DependencyContainer): void {
  provide(root, PET_SOURCE, (c) => new ArchiveSource(c.resolve(SOURCE).archive));
  provide(root, CopyPets, (c) => new CopyPets(c.resolve(PET_SOURCE), c.resolve(TARGET).archive));
  provide(root, CopyKeys, (c) => new CopyKeys(c.resolve(SOURCE).keys, c.resolve(TARGET).keys));
  provide(root, ExportPets, (c) => new ExportPets(c.resolve(SOURCE).archive));
  provide(root, SkipIds, (c) => new SkipIds(c.resolve(TARGET).archive));
  provide(root, CheckStorage, (c) => new CheckStorage(c.resolve(CHECKED), fingerprint));
}
