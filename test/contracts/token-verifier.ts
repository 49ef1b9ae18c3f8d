import { describe, expect, it, onTestFinished } from 'vitest';
import type { TokenVerifier } from '../../src/application/ports/token-verifier.ts';

export type KnownTokens = {
  readonly verifier: TokenVerifier;
  /** In the order of the labels. */
  readonly tokens: readonly string[];
  close?(): Promise<void>;
};

/**
 * The contract of {@link TokenVerifier}.
 *
 * @param open opens a verifier with one key for each of these labels and no others
 */
export function tokenVerifierContract(
  name: string,
  open: (labels: readonly string[]) => Promise<KnownTokens>,
): void {
  describe(`TokenVerifier contract: ${name}`, () => {
    it.each([
      ['tom', 0],
      ['ann', 1],
      ['zoë', 2],
    ])('accepts every key, and returns its label but no part of the token: %s', async (label, index) => {
      const { verifier, tokens } = await opened(['tom', 'ann', 'zoë']);
      const token = tokens[index]!;

      const found = await verifier.verify(token);

      expect(found?.label).toBe(label);
      expect(JSON.stringify(found)).not.toContain(token);
      expect(JSON.stringify(found)).not.toContain(token.slice(-16));
    });

    it('returns a different, stable id for each key', async () => {
      const { verifier, tokens } = await opened(['tom', 'ann', 'zoë']);

      const first = await Promise.all(tokens.map(async (token) => verifier.verify(token)));
      const second = await Promise.all(tokens.map(async (token) => verifier.verify(token)));

      expect(new Set(first.map((caller) => caller?.id)).size).toBe(3);
      expect(second).toStrictEqual(first);
    });

    it.each<readonly [string, (tom: string, ann: string) => string]>([
      ['empty', () => ''],
      ['a space', () => ' '],
      ['the beginning of a key', (tom) => tom.slice(0, -1)],
      ['the end of a key', (tom) => tom.slice(1)],
      ['one character more', (tom) => `${tom}0`],
      ['white space after', (tom) => `${tom} `],
      ['white space before', (tom) => ` ${tom}`],
      ['a NUL after', (tom) => `${tom}\0`],
      ['another case', (tom) => tom.toUpperCase()],
      ['another last character', (tom) => `${tom.slice(0, -1)}~`],
      ['another first character', (tom) => `~${tom.slice(1)}`],
      ['two keys', (tom, ann) => tom + ann],
      ['one half of each', (tom, ann) => tom.slice(0, tom.length / 2) + ann.slice(tom.length / 2)],
      ['a label', () => 'tom'],
      ['very long', (tom) => tom.repeat(1000)],
      ['beyond ASCII', () => 'zoë-0123456789abcdef'],
      ['a lone surrogate', (tom) => `${tom}\ud800`],
      ['a word of JavaScript', () => '__proto__'],
    ])('rejects any other token, before and after it has accepted the right one: %s', async (_, change) => {
      const { verifier, tokens } = await opened(['tom', 'ann']);
      const [tom, ann] = tokens as [string, string];
      const wrong = change(tom, ann);

      expect(await verifier.verify(wrong)).toBeUndefined();
      expect((await verifier.verify(tom))?.label).toBe('tom');
      expect(await verifier.verify(wrong)).toBeUndefined();
    });

    it('rejects every token when it has no keys, including those of another verifier', async () => {
      const { verifier: other, tokens } = await opened(['tom', 'ann']);
      const { verifier } = await opened([]);

      for (const token of tokens) {
        expect(await other.verify(token)).toBeDefined();
        expect(await verifier.verify(token)).toBeUndefined();
      }
    });

    it('gives the same answer every time, whatever was asked before', async () => {
      const { verifier, tokens } = await opened(['tom', 'ann']);
      const [tom, ann] = tokens as [string, string];

      const answers = await Promise.all(
        [tom, 'wrong', ann, tom, 'wrong'].map((token) => verifier.verify(token)),
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

  async function opened(labels: readonly string[]): Promise<KnownTokens> {
    const known = await open(labels);
    onTestFinished(async () => known.close?.());
    return known;
  }
}
