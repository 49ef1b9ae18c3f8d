import { copyFile, cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { bundle, PAGE_FILES, ROOT } from './bundle.ts';

// Makes the npm package: node scripts/build.ts [DIRECTORY]. The service and its libraries are bundled, because Node
// strips no types from files in node_modules.
const directory = resolve(process.argv[2] ?? join(ROOT, 'dist'));
const LICENSES = 'THIRD-PARTY-LICENSES.txt';

for (const folder of ['lib', 'page']) await rm(join(directory, folder), { recursive: true, force: true });
const licenses = await bundle(join(directory, 'lib'), { split: true });
await mkdir(join(directory, 'page'));
for (const [name, path] of Object.entries(PAGE_FILES)) await copyFile(path, join(directory, 'page', name));
for (const path of ['bin/petstore', 'bin/find-node', 'bin/petstore.js', 'README.md', 'LICENSE']) {
  await cp(join(ROOT, path), join(directory, path));
}
await writeFile(join(directory, LICENSES), licenses);

const { name, version, description, license, type, engines } = packageJson;
const published = {
  name,
  version,
  description,
  license,
  type,
  bin: { petstore: 'bin/petstore' },
  engines,
  imports: { '#main': './lib/main.cjs', '#page/*': './page/*' },
  files: ['bin', 'lib', 'page', LICENSES],
  publishConfig: { access: 'public', provenance: true },
};
await writeFile(join(directory, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`);
