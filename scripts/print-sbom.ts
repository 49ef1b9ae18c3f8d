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
  execFileSync('npm', args, { cwd: directory, stdio: 'inherit' });
} finally {
  rmSync(parent, { recursive: true });
}
