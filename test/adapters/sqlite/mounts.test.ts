import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { isMountPoint } from '../../../src/adapters/sqlite/mounts.ts';
import { type Program, run, SERVICE, SERVICE_ENV } from '../../support/process.ts';
import { newFile } from '../../support/sqlite.ts';

const MOUNTINFO = `540 430 0:55 / / rw,relatime master:151 - overlay overlay rw,lowerdir=/l/A:/l/B - x
542 540 254:1 /v/_data /petstore/data rw,relatime shared:7 master:9 - ext4 /dev/vda1 rw
543 542 254:1 /host.db /petstore/data/a\\040b\\134c.db rw - ext4 /dev/vda1 rw
545 544 0:61 / /tmp rw - tmpfs tmpfs rw,size=65536k
`;

it.each([
  ['/petstore/data/petstore.db', false],
  ['/petstore/data/a b\\c.db', true],
  ['/petstore/data', true],
  ['/tmp/x/petstore.db', false],
])('%s is a mount point: %s', (path, expected) => {
  expect(isMountPoint(path, MOUNTINFO)).toBe(expected);
});

const NAMESPACE = ['--user', '--map-root-user', '--mount'];
const isAllowed = spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0;
const leftOut = isAllowed ? '' : ' (left out: this system allows no mounts of a process of its own)';

/** Runs the program where this mount exists, and only there. */
function mounted(mount: readonly string[], file: string, args: readonly string[] = []): Program {
  const program = ['sh', process.execPath, ...SERVICE, ...args];
  const script = `mount ${mount.join(' ')} && exec "$@"`;
  const env = { ...SERVICE_ENV, DATABASE_URL: `sqlite:${file}` };
  return run('unshare', [...NAMESPACE, 'sh', '-c', script, ...program], env);
}

it.runIf(isAllowed).each([[[]], [['keys', 'create', '--label', 'x']], [['import', 'examples/pets.ndjson']]])(
  `a file that is itself mounted is refused: %j${leftOut}`,
  async (args) => {
    const [file, other] = [await newFile(), await newFile()];
    for (const path of [file, other]) await writeFile(path, '');
    const program = mounted(['--bind', other, file], file, args);
    expect(await program.ended).toStrictEqual({ code: 1, signal: null });
    expect(program.stderr).toBe(
      `petstore: the SQLite file ${file} is mounted as a file, and what is beside it would be lost with the container; ` +
        `mount the directory, never the file: --volume DIRECTORY:${dirname(file)}\n`,
    );
  },
);

it.runIf(isAllowed)(`a service with its file in memory says so${leftOut}`, async () => {
  const file = await newFile();
  const program = mounted(['-t', 'tmpfs', 'none', dirname(file)], file);
  const { level } = await program.logged(
    `the SQLite file ${file} is on tmpfs: its pets end with the container or the system; ` +
      `mount a volume: --volume NAME:${dirname(file)}`,
  );
  expect([level, await program.url()]).toStrictEqual([40, expect.stringContaining('http')]);
});
