import { describe, expect, it } from 'vitest';
import type { TokenVerifier } from '../../src/application/ports/token-verifier.ts';

export type Key = { readonly label: string; readonly key: string };

/**
 * What every {@link TokenVerifier} must do.
 *
 * @param open makes a verifier that knows these keys and no others
 */
export function tokenVerifierContract(
  name: string,
  open: (keys: readonly Key[]) => Promise<TokenVerifier>,
): void {
  const tom = { label: 'tom', key: 'tom-0123456789abcdef' };
  const ann = { label: 'ann', key: 'ann-0123456789abcdef' };
  const zoe = { label: 'zoë', key: 'zoë-0123456789abcdef' };

  describe(`TokenVerifier contract: ${name}`, () => {
    it.each([tom, ann, zoe])('knows every key and tells its label and nothing else: $label', async (one) => {
      const verifier = await open([tom, ann, zoe]);

      const found = await verifier.verify(one.key);

      expect(found?.label).toBe(one.label);
      expect(JSON.stringify(found)).not.toContain(one.key);
    });

    it('knows a key of any length', async () => {
      const long = { label: 'long', key: 'k'.repeat(10_000) };
      const verifier = await open([long]);

      expect((await verifier.verify(long.key))?.label).toBe('long');
      expect(await verifier.verify(`${long.key}k`)).toBeUndefined();
    });

    it.each([
      ['unknown', 'bob-0123456789abcdef'],
      ['empty', ''],
      ['a space', ' '],
      ['a beginning', tom.key.slice(0, -1)],
      ['an end', tom.key.slice(1)],
      ['one character more', `${tom.key}0`],
      ['white space after', `${tom.key} `],
      ['a NUL after', `${tom.key}\0`],
      ['another case', tom.key.toUpperCase()],
      ['another last character', `${tom.key.slice(0, -1)}e`],
      ['two keys', tom.key + ann.key],
      ['a label', tom.label],
      ['the same, decomposed', zoe.key.normalize('NFD')],
    ])('knows no other token: %s', async (_, token) => {
      const verifier = await open([tom, ann, zoe]);

      expect(await verifier.verify(token)).toBeUndefined();
    });

    it('knows nothing without keys', async () => {
      const verifier = await open([]);

      expect(await verifier.verify(tom.key)).toBeUndefined();
      expect(await verifier.verify('')).toBeUndefined();
    });

    it('tells one and the same answer however often and whatever was asked before', async () => {
      const verifier = await open([tom, ann]);

      const answers = await Promise.all(
        [tom.key, 'wrong', ann.key, tom.key, 'wrong'].map((token) => verifier.verify(token)),
      );

      expect(answers.map((answer) => answer?.label)).toStrictEqual([
        'tom',
        undefined,
        'ann',
        'tom',
        undefined,
      ]);
    });
  });
}
