import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceProcess } from '../failure/service-process.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';

export type LoggedService = AsyncDisposable & {
  readonly url: string;
  /**
   * Stops the service, so that its log is complete.
   *
   * @returns the method and the status of each request to a route under `/v1`, in the order of their answers
   */
  readonly stop: () => Promise<readonly string[]>;
};

/** Starts a service with its pets in memory, where there are none. */
export async function startService(): Promise<LoggedService> {
  const directory = await temporaryDirectory('clients');
  const logPath = join(directory.path, 'log');
  const service = await ServiceProcess.start({ DATABASE_URL: 'memory:', LOG_LEVEL: 'info' }, { logPath });
  return {
    url: service.url,
    async stop() {
      await service.terminate();
      const lines = (await readFile(logPath, 'utf8')).trim().split('\n');
      return lines
        .map((line) => JSON.parse(line))
        .filter(({ msg, route }) => msg === 'request' && String(route).startsWith('/v1'))
        .map(({ method, status }) => `${method} ${status}`);
    },
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await directory.remove();
    },
  };
}
