import { readConfig } from '../config/config.ts';
import { serve } from '../service/serve.ts';
import type { Command } from './command.ts';
import { explain } from './failures.ts';

export const serveCommand: Command = {
  longRunning: true,
  async run(_given, session) {
    // The primary process sets this variable of a worker. A service in one process loads neither module.
    const mayBeWorker = Number(session.env['WORKERS']) > 1;
    if (!mayBeWorker || !(await import('node:cluster')).default.isWorker) {
      return serve(readConfig(session.env, session.storages), session);
    }
    const { work } = await import('../service/work.ts');
    await work(session, (error) => explain(error, 'petstore serve --help').lines);
  },
};
