import { expect, it } from 'vitest';
import type {
  ReliesOnPetsThatNeverChange,
  WhilePetsNeverChange,
} from '../../../src/application/ports/pets-never-change.ts';

it('code that relies on pets that never change does not compile with a method that may change a pet', () => {
  const allowed: WhilePetsNeverChange<string, 'insert' | 'list' | 'write'> = 'no method changes a pet';
  // @ts-expect-error: `tsc` refuses the next line. It would also refuse this comment if that line had no error.
  const refused: WhilePetsNeverChange<string, 'insert' | 'update'> = 'update may change a pet';
  // The refused type is this one, so the message of the compiler names it and the method.
  const namedInError: ReliesOnPetsThatNeverChange<'update'> = refused;
  expect([allowed, namedInError]).toHaveLength(2);
});
