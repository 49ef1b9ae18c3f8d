import type { PetArchive } from './pet-archive.ts';
import type { PetRepository } from './pet-repository.ts';

/** What the ports do with pets. None of it changes a stored pet or removes one. */
type Harmless =
  | ('insert' | 'insertOnce' | 'findById' | 'list')
  | ('read' | 'write' | 'greatestId' | 'lastId' | 'reserve' | 'count');

/**
 * Something that is right only because a stored pet never changes and is never removed. Wherever the program relies on
 * that, it says so with this type.
 *
 * Any other method of the ports turns it into {@link ReliesOnPetsThatNeverChange}, and the compiler names every such
 * place. If the method changes or removes pets, find for each of them what is right now. If it does neither, add it to
 * the list above.
 */
export type WhilePetsNeverChange<T, Method = keyof PetRepository | keyof PetArchive> = [Method] extends [
  Harmless,
]
  ? T
  : ReliesOnPetsThatNeverChange<Exclude<Method, Harmless>>;

declare const RELIES: unique symbol;

/** No value has this type. Its name, and that of the method, are what the compiler's message consists of. */
export interface ReliesOnPetsThatNeverChange<Method> {
  readonly [RELIES]: Method;
}
