import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { readConfig } from '../../src/main/config/config.ts';
import { type Service, start } from '../../src/main/service/start.ts';

/** A service in this process, until the test is over. Takes a free port. */
export async function startService(env: Readonly<Record<string, string>>): Promise<Service> {
  const service = await start(readConfig({ PORT: '0', ...env }), pino({ level: 'silent' }));
  onTestFinished(async () => void (await service.stop()));
  return service;
}
