import { describe, expect, it } from 'vitest';
import { InvalidPet } from '../../src/domain/invalid-pet.ts';

describe('InvalidPet', () => {
  it('says every problem in one message and keeps each with its value', () => {
    const problems = [
      { field: 'name', value: '', problem: 'must not be empty' },
      { field: 'categoryId', value: 2n ** 63n, problem: 'must be a signed 64-bit integer' },
    ];

    const error = new InvalidPet(problems);

    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'InvalidPet',
      kind: 'invalid-pet',
      problems,
      message: 'name must not be empty; categoryId must be a signed 64-bit integer',
    });
  });
});
