import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isMountPoint } from '../../../src/adapters/sqlite/mounts.ts';
import { run } from '../../support/process.ts';
import { newFile } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

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

it.runIf(isAllowed)(
  `a file that is itself mounted is refused, and a file in memory causes a warning${leftOut}`,
  async () => {
    const [file, other, inMemory] = [await newFile(), await newFile(), await newFile()];
    for (const path of [file, other]) await writeFile(path, '');
    const mounts = `mount --bind ${other} ${file} && mount -t tmpfs none ${dirname(inMemory)}`;
    const opener = [
      fileURLToPath(new URL('./opener.ts', import.meta.url)),
      `sqlite:${file}`,
      `sqlite:${inMemory}`,
    ];
    const command = ['sh', '-c', `${mounts} && exec "$@"`, 'sh', process.execPath, ...opener];

    const program = run('unshare', [...NAMESPACE, ...command], {}, await testDirectory());
    await program.ended;

    const refusal =
      `StorageSetupError: the SQLite file ${file} is mounted as a file, and what is beside it would be lost with the ` +
      `container; mount the directory, never the file: --volume DIRECTORY:${dirname(file)}`;
    const warning = `the SQLite file ${inMemory} is in memory (tmpfs), where no pet lasts; put it on a disk`;
    // A service, a command that writes pets and one that creates a key.
    expect(program.stdout.split('\n')).toStrictEqual([refusal, warning, refusal, refusal, '']);
    expect(program.stderr).toBe('');
  },
);
