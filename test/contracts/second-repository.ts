import { describe } from 'vitest';

/** What an adapter cannot do, with the reason. The reason appears in the title of the skipped suite. */
export type Lacks = { readonly another?: string };

/** A suite that needs a second repository on the same store. Skipped for an adapter that lacks one. */
export function describeSecondRepository({ another }: Lacks, tests: () => void): void {
  const reason = another === undefined ? '' : ` (skipped: ${another})`;
  describe.skipIf(another !== undefined)(`a second repository on the same store${reason}`, () => {
    tests();
  });
}

export async function openSecond<T>(store: { another?(): Promise<T> }): Promise<T> {
  if (store.another === undefined) {
    throw new Error('the store must open a second repository, or the adapter must declare that it lacks one');
  }
  return store.another();
}
