import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { mountOf } from '../../../src/adapters/sqlite/mounts.ts';
import { run } from '../../support/process.ts';
import { newPath } from '../../support/sqlite.ts';
import { testDirectory } from '../../support/test-directory.ts';

const MOUNTINFO = `540 430 0:55 / / rw,relatime master:151 - overlay overlay rw,lowerdir=/l/A:/l/B - x
542 540 254:1 /v/_data /petstore/data rw,relatime shared:7 master:9 - ext4 /dev/vda1 rw
543 542 254:1 /host.db /petstore/data/a\\040b\\134c.db rw - ext4 /dev/vda1 rw
545 544 0:61 / /tmp/x rw - tmpfs tmpfs rw,size=65536k
546 544 0:62 / /tmp/x rw - fuse.sshfs me@host:/x rw
547 544 0:63 / /tmp rw - tmpfs tmpfs rw,size=65536k
`;

it.each([
  ['/petstore/data/petstore.db', '/petstore/data', 'ext4'],
  ['/petstore/data/a b\\c.db', '/petstore/data/a b\\c.db', 'ext4'],
  ['/petstore/database/petstore.db', '/', 'overlay'],
  ['/tmp/x/petstore.db', '/tmp/x', 'fuse.sshfs'],
])('mountOf finds for %s the mount %s of the type %s', (path, point, type) => {
  expect(mountOf(path, MOUNTINFO)).toStrictEqual({ point, type });
});

const NAMESPACE = ['--user', '--map-root-user', '--mount'];
const isAllowed = spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', '/tmp']).status === 0;
const skipNote = isAllowed ? '' : ' (left out: this system allows a process no mounts)';

it.runIf(isAllowed)(
  `a file that is itself mounted is refused, and a file in memory or on a network causes a warning${skipNote}`,
  async () => {
    const [file, other, inMemory, remote] = [
      await newPath(),
      await newPath(),
      await newPath(),
      await newPath(),
    ];
    for (const path of [file, other]) await writeFile(path, '');
    const [memory, network] = [dirname(inMemory), dirname(remote)];
    const mounts =
      `mount --bind ${other} ${file} && mount -t tmpfs none ${memory} && mount -t tmpfs none ${network} && ` +
      `sed 's|\\( ${network} .* - \\)tmpfs|\\1nfs4|' /proc/self/mountinfo > ${other} && ` +
      `mount --bind ${other} /proc/$$/mountinfo`;
    const opener = [
      fileURLToPath(new URL('./opener.ts', import.meta.url)),
      ...[file, inMemory, remote].map((path) => `sqlite:${path}`),
    ];
    const command = ['sh', '-c', `${mounts} && exec "$@"`, 'sh', process.execPath, ...opener];

    const program = run('unshare', [...NAMESPACE, ...command], {}, await testDirectory());
    await program.ended;

    const refusal =
      `StorageSetupError: the SQLite file ${file} is mounted as a file, and the files beside it would be lost with the ` +
      `container; mount the directory, never the file: --volume DIRECTORY:${dirname(file)}`;
    const warnings = [
      `the SQLite file ${inMemory} is in memory (tmpfs), which a restart clears; put it on a disk`,
      `the SQLite file ${remote} is on a network or shared file system (nfs4), whose locks may not keep a second ` +
        'service out; put it on a disk of this machine',
    ];
    expect(program.stderr).toBe('');
    // The same lines come from a service, from a command that writes pets and from a command that creates a key.
    expect(program.stdout.split('\n')).toStrictEqual([
      ...Array.from({ length: 3 }, () => [refusal, ...warnings]).flat(),
      '',
    ]);
  },
);
