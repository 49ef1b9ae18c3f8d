import { expect, it } from 'vitest';
import type { TokenVerifier } from '../../src/application/ports/token-verifier.ts';

type KnownTokens = {
  readonly verifier: TokenVerifier;
  /** In the order of the labels. */
  readonly tokens: readonly string[];
};

/**
 * The contract of {@link TokenVerifier}.
 *
 * @param open opens a verifier with one key for each of these labels and no others
 */
export function tokenVerifierContract(open: (labels: readonly string[]) => Promise<KnownTokens>): void {
  it('accepts every key, and returns a stable caller of its own, without any part of the token', async () => {
    const { verifier, tokens } = await open(['tom', 'ann', 'zoë']);

    const found = await Promise.all([...tokens, ...tokens].map((token) => verifier.verify(token)));

    expect(found.map((caller) => caller?.label)).toStrictEqual(['tom', 'ann', 'zoë', 'tom', 'ann', 'zoë']);
    expect(found.slice(3)).toStrictEqual(found.slice(0, 3));
    expect(new Set(found.map((caller) => caller?.id)).size).toBe(3);
    for (const token of tokens) expect(JSON.stringify(found)).not.toContain(token.slice(-16));
  });

  it.each<readonly [string, (tom: string, ann: string) => string]>([
    ['empty', () => ''],
    ['a space', () => ' '],
    ['the beginning of a key', (tom) => tom.slice(0, -1)],
    ['the end of a key', (tom) => tom.slice(1)],
    ['white space after', (tom) => `${tom} `],
    ['white space before', (tom) => ` ${tom}`],
    ['a NUL after', (tom) => `${tom}\0`],
    ['another case', (tom) => tom.toUpperCase()],
    ['another last character', (tom) => `${tom.slice(0, -1)}~`],
    ['two keys', (tom, ann) => tom + ann],
    ['one half of each', (tom, ann) => tom.slice(0, tom.length / 2) + ann.slice(tom.length / 2)],
    ['a label', () => 'tom'],
    ['very long', (tom) => tom.repeat(1000)],
    ['beyond ASCII', () => 'zoë-0123456789abcdef'],
    ['a lone surrogate', (tom) => `${tom}\ud800`],
    ['a word of JavaScript', () => '__proto__'],
  ])('rejects any other token, before and after it has accepted the right one: %s', async (_, change) => {
    const { verifier, tokens } = await open(['tom', 'ann']);
    const [tom, ann] = tokens as [string, string];
    const wrong = change(tom, ann);

    expect(await verifier.verify(wrong)).toBeUndefined();
    expect((await verifier.verify(tom))?.label).toBe('tom');
    expect(await verifier.verify(wrong)).toBeUndefined();
  });
}
