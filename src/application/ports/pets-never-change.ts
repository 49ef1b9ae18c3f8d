import type { PetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';

/** The methods that neither change nor remove a stored pet. */
type Harmless =
  | ('insert' | 'insertOnce' | 'findById' | 'list')
  | ('read' | 'write' | 'greatestId' | 'lastId' | 'reserve' | 'count');

/**
 * Marks code that is right only because stored pets never change and are never removed.
 *
 * A new port method turns this type into {@link ReliesOnPetsThatNeverChange}, so all marked code has compile errors.
 * If the method changes or removes pets, correct this code. If not, add the method to {@link Harmless}.
 */
export type WhilePetsNeverChange<T, Method = keyof PetRepository | keyof PetArchive> = [Method] extends [
  Harmless,
]
  ? T
  : ReliesOnPetsThatNeverChange<Exclude<Method, Harmless>>;

declare const RELIES: unique symbol;

/** No value has this type. The compiler's message names this type and the new method. */
export interface ReliesOnPetsThatNeverChange<Method> {
  readonly [RELIES]: Method;
}
