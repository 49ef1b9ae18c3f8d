import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundle, PAGE_FILES, ROOT } from './bundle.ts';

// Makes one executable of this Node and the service: node scripts/build-sea.ts [DIRECTORY]
// https://nodejs.org/docs/latest-v26.x/api/single-executable-applications.html
const directory = resolve(process.argv[2] ?? join(ROOT, 'dist-sea'));
const run = promisify(execFile);
const YOUNG_OBJECTS = '--max-semi-space-size=8';

// One file: an executable loads no modules but those of Node.
const licenses = await bundle(directory, { split: false });
const executable = join(directory, 'petstore');
const config = {
  main: join(directory, 'main.cjs'),
  output: executable,
  useCodeCache: true,
  disableExperimentalSEAWarning: true,
  // As in bin/petstore.
  execArgv: [YOUNG_OBJECTS],
  assets: PAGE_FILES,
};
const configFile = join(directory, 'sea-config.json');
await writeFile(configFile, JSON.stringify(config));
// With the same option, or the executable could not use its compiled code.
await run(process.execPath, [YOUNG_OBJECTS, '--build-sea', configFile]);
// macOS runs signed programs only, and the build has changed one.
if (process.platform === 'darwin') await run('codesign', ['--sign', '-', '--force', executable]);

const license = await readFile(join(process.execPath, '../../LICENSE'), 'utf8');
await writeFile(
  join(directory, 'THIRD-PARTY-LICENSES.txt'),
  `==== Node.js ${process.version} ====\n\n${license}\n${licenses}`,
);
