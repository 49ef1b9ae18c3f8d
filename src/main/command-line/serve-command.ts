import { readConfig } from '../config/config.ts';
import { serve } from '../service/serve.ts';
import type { Command } from './command.ts';

export const serveCommand: Command = {
  lasts: true,
  run: (_given, session) => serve(readConfig(session.env, session.storages), session),
};
