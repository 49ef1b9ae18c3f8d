import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TargetMessage } from './fuzz-target.ts';
import type { Address } from './fuzz-client.ts';

/** A service that is fuzzed. It runs in a child process. */
export class Target implements AsyncDisposable {
  readonly address: Address;
  /** The lines that the service logged with level `error` or `fatal`. */
  readonly failures: string[] = [];
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, address: Address) {
    this.#child = child;
    this.address = address;
    child.on('message', (message: TargetMessage) => {
      if ('failure' in message) this.failures.push(message.failure);
    });
  }

  static async start(databaseUrl: string, tls: boolean): Promise<Target> {
    const program = join(import.meta.dirname, 'fuzz-target.ts');
    const child = fork(program, [databaseUrl, tls ? 'tls' : 'plain']);
    const earlyExit = once(child, 'exit').then(() => {
      throw new Error('the service ended before it listened');
    });
    // An exit after the start must not be an unhandled rejection.
    earlyExit.catch(() => {});
    const [message] = (await Promise.race([once(child, 'message'), earlyExit])) as [TargetMessage];
    if (!('port' in message)) throw new Error('the service failed before it listened');
    return new Target(child, { port: message.port, tls });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.disconnect();
    await exit;
  }
}
