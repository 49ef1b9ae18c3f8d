import { describe, expect, it } from 'vitest';
import { InvalidPet } from '../../src/domain/invalid-pet.ts';

describe('InvalidPet', () => {
  it('names every problem in one message', () => {
    const error = new InvalidPet(['name must not be empty', 'categoryId must be a signed 64-bit integer']);

    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'InvalidPet',
      kind: 'invalid-pet',
      message: 'name must not be empty; categoryId must be a signed 64-bit integer',
    });
  });
});
