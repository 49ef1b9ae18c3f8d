import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../support/process.ts';

const UNIT = join(ROOT, 'deploy/systemd/petstore@.service');

/** What systemd makes of the template in `deploy` for the instance of a port. */
export async function systemdUnit(port: number) {
  const text = (await readFile(UNIT, 'utf8')).replaceAll('%i', `${port}`);
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  return {
    text,
    setting,
    /** A command for bash. systemd makes one dollar sign of two. */
    command: (name: string) => `exec ${setting(name).replaceAll('$$', '$')}`,
    environment: Object.fromEntries(
      setting('Environment')
        .split(' ')
        .map((one) => one.split('=')),
    ),
  } as const;
}
