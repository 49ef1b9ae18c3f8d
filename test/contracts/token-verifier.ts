import { expect, it } from 'vitest';
import type { TokenVerifier } from '../../src/application/ports/token-verifier.ts';

type KnownTokens = {
  readonly verifier: TokenVerifier;
  /** One token per label, in the order of the labels. */
  readonly tokens: readonly string[];
};

/**
 * The contract of {@link TokenVerifier}.
 *
 * @param open opens a verifier that knows exactly one key per label
 */
export function tokenVerifierContract(open: (labels: readonly string[]) => Promise<KnownTokens>): void {
  it('returns the same caller whenever it verifies the same token, and the caller does not contain the end of the token', async () => {
    const { verifier, tokens } = await open(['tom', 'ann', 'zoë']);

    const found = await Promise.all([...tokens, ...tokens].map((token) => verifier.verify(token)));

    expect(found.map((caller) => caller?.label)).toStrictEqual(['tom', 'ann', 'zoë', 'tom', 'ann', 'zoë']);
    expect(found.slice(3)).toStrictEqual(found.slice(0, 3));
    expect(new Set(found.map((caller) => caller?.id)).size).toBe(3);
    for (const token of tokens) expect(JSON.stringify(found)).not.toContain(token.slice(-16));
  });

  it.each<readonly [string, (tom: string, ann: string) => string]>([
    ['an empty text', () => ''],
    ['a space', () => ' '],
    ['the beginning of a token', (tom) => tom.slice(0, -1)],
    ['the end of a token', (tom) => tom.slice(1)],
    ['a token with white space after it', (tom) => `${tom} `],
    ['a token with white space before it', (tom) => ` ${tom}`],
    ['a token with a NUL after it', (tom) => `${tom}\0`],
    ['a token in upper case', (tom) => tom.toUpperCase()],
    ['a token with another last character', (tom) => `${tom.slice(0, -1)}~`],
    ['two tokens in one text', (tom, ann) => tom + ann],
    ['halves of two tokens', (tom, ann) => tom.slice(0, tom.length / 2) + ann.slice(tom.length / 2)],
    ['the label of a key', () => 'tom'],
    ['a token repeated 1,000 times', (tom) => tom.repeat(1000)],
    ['a text that is not ASCII', () => 'zoë-0123456789abcdef'],
    ['a token with a lone surrogate after it', (tom) => `${tom}\ud800`],
    ['the name of a JavaScript property', () => '__proto__'],
  ])('rejects %s before and after it accepts a valid token', async (_, change) => {
    const { verifier, tokens } = await open(['tom', 'ann']);
    const [tom, ann] = tokens as [string, string];
    const wrong = change(tom, ann);

    expect(await verifier.verify(wrong)).toBeUndefined();
    expect((await verifier.verify(tom))?.label).toBe('tom');
    expect(await verifier.verify(wrong)).toBeUndefined();
  });
}
