import { expect, it } from 'vitest';
import type { WhilePetsNeverChange } from '../../../src/application/ports/pets-never-change.ts';

it('what relies on pets that never change does not compile beside a method that may change one', () => {
  const beside: WhilePetsNeverChange<string, 'insert' | 'list' | 'write'> = 'harmless methods';
  // @ts-expect-error: `tsc` refuses this line, and a comment that expects an error where there is none.
  const besideUpdate: WhilePetsNeverChange<string, 'insert' | 'update'> = 'another one';
  expect([beside, besideUpdate]).toHaveLength(2);
});
