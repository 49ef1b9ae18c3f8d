import type { Given } from './command.ts';
import type { Session } from './session.ts';

/**
 * Prints the text, or the value as JSON with `--json`.
 *
 * @throws {OutputError}
 * @throws {Interrupted}
 */
export async function answer({ json }: Given, session: Session, text: string, value: unknown): Promise<void> {
  await session.print(json ? `${JSON.stringify(value)}\n` : text);
}
