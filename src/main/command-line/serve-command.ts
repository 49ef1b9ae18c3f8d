import { readConfig } from '../config/config.ts';
import { serve } from '../service/serve.ts';
import type { Command } from './command.ts';
import { explain } from './failures.ts';

export const serveCommand: Command = {
  lasts: true,
  async run(_given, { env, signal, storages }) {
    const config = readConfig(env, storages);
    // The primary process and its workers run the same command. A service in one process loads neither module.
    const isWorker = config.workers > 1 && (await import('node:cluster')).default.isWorker;
    if (!isWorker) return serve(config, signal);
    const { work } = await import('../service/work.ts');
    await work(config, signal, (error) => explain(error, 'petstore serve --help').lines);
  },
};
