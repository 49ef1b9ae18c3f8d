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
  it('accepts every key, and returns for each key its own caller, always the same, without any part of the token', async () => {
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
    ['the beginning of a key', (tom) => tom.slice(0, -1)],
    ['the end of a key', (tom) => tom.slice(1)],
    ['a key with white space after it', (tom) => `${tom} `],
    ['a key with white space before it', (tom) => ` ${tom}`],
    ['a key with a NUL after it', (tom) => `${tom}\0`],
    ['a key in upper case', (tom) => tom.toUpperCase()],
    ['a key with another last character', (tom) => `${tom.slice(0, -1)}~`],
    ['two keys in one text', (tom, ann) => tom + ann],
    ['two halves of different keys', (tom, ann) => tom.slice(0, tom.length / 2) + ann.slice(tom.length / 2)],
    ['the label of a key', () => 'tom'],
    ['a key repeated 1,000 times', (tom) => tom.repeat(1000)],
    ['a text that is not ASCII', () => 'zoë-0123456789abcdef'],
    ['a key with a lone surrogate after it', (tom) => `${tom}\ud800`],
    ['a word of JavaScript', () => '__proto__'],
  ])('rejects %s, before and after it has accepted a right token', async (_, change) => {
    const { verifier, tokens } = await open(['tom', 'ann']);
    const [tom, ann] = tokens as [string, string];
    const wrong = change(tom, ann);

    expect(await verifier.verify(wrong)).toBeUndefined();
    expect((await verifier.verify(tom))?.label).toBe('tom');
    expect(await verifier.verify(wrong)).toBeUndefined();
  });
}
