import { expect, it } from 'vitest';
import type {
  ReliesOnPetsThatNeverChange,
  WhilePetsNeverChange,
} from '../../../src/application/ports/pets-never-change.ts';

it('code that relies on pets that never change does not compile with a method that may change a pet', () => {
  const beside: WhilePetsNeverChange<string, 'insert' | 'list' | 'write'> = 'harmless methods';
  // @ts-expect-error: `tsc` refuses this line, and a comment that expects an error where there is none.
  const besideUpdate: WhilePetsNeverChange<string, 'insert' | 'update'> = 'another one';
  // Its error names this type and the method.
  const named: ReliesOnPetsThatNeverChange<'update'> = besideUpdate;
  expect([beside, named]).toHaveLength(2);
});
