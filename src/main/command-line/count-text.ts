import type { Copied } from '../../application/moving/copy-pets.ts';

/** Such as `1 pet` or `300 pets`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The answer of a command that copies pets. */
export function copiedText(done: 'copied' | 'imported', { count, before, others }: Copied): string {
  const known = before > 0 ? `; ${before} of them were already there` : '';
  const extra = others > 0 ? `; the target also has ${countText(others, 'other pet')}` : '';
  return `${done} ${countText(count, 'pet')}${known}${extra}\n`;
}

/** {@link copiedText} for programs. */
export function copiedJson({ count, before, others }: Copied): Record<string, number> {
  return { count, alreadyThere: before, others };
}
