/**
 * Prints the software bill of materials of the service: CycloneDX, production dependencies only.
 *
 *   node scripts/print-sbom.ts > petstore.cdx.json
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { productionLock } from './production-lock.ts';

type Bom = {
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string }[];
};

const { manifest, lock } = productionLock();
const parent = mkdtempSync(join(tmpdir(), 'petstore-sbom-'));
try {
  // `npm sbom --omit dev` (npm 11.19) leaves out what development tools need too, 31 packages of ours. So it gets a
  // project without such tools. It takes the name from the directory.
  const directory = join(parent, manifest.name);
  mkdirSync(directory);
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify(lock));
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'];
  const bom = JSON.parse(execFileSync('npm', args, { cwd: directory, encoding: 'utf8' })) as Bom;
  // npm 10.8 lists a package once for each folder that has it. CycloneDX allows each reference once.
  const components = [...new Map(bom.components.map((one) => [one['bom-ref'], one])).values()];
  const dependencies = [...new Map(bom.dependencies.map((one) => [one.ref, one])).values()];
  console.log(JSON.stringify({ ...bom, components, dependencies }, undefined, 2));
} finally {
  rmSync(parent, { recursive: true });
}
