import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ROOT } from '../support/process.ts';

const UNIT = join(ROOT, 'deploy/systemd/petstore@.service');

/** Returns the unit that systemd makes from the template in `deploy` for the instance with this port. */
export async function systemdUnit(port: number) {
  const text = (await readFile(UNIT, 'utf8')).replaceAll('%i', `${port}`);
  const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? '';
  return {
    text,
    setting,
    /** Returns a command of the unit for bash. systemd reads `$$` as one dollar sign. */
    command: (name: string) => `exec ${setting(name).replaceAll('$$', '$')}`,
    environment: Object.fromEntries(
      setting('Environment')
        .split(' ')
        .map((variable) => variable.split('=')),
    ),
  } as const;
}
