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
 * Any other method of the ports turns it into `never`, and the compiler names every such place. If the method changes
 * or removes pets, answer each of them. If it does neither, add it to the list above.
 */
export type WhilePetsNeverChange<T, Method = keyof PetRepository | keyof PetArchive> = [Method] extends [
  Harmless,
]
  ? T
  : never;
