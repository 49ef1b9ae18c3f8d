/**
 * Removes the `engines` of optional packages from package-lock.json. npm installs an optional package only if the Node
 * that npm itself runs on suits it, and leaves it out without a word: on Node 18, `npm ci` would install vitest without
 * the native part that vitest needs. Our programs run on the Node of the clone, which suits all packages.
 *
 *   node scripts/relax-lock.ts
 */
import { readFileSync, writeFileSync } from 'node:fs';

type LockedPackage = { readonly optional?: true; readonly devOptional?: true; readonly engines?: unknown };

const file = new URL('../package-lock.json', import.meta.url);
const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockedPackage> };
for (const [path, { engines: _, ...others }] of Object.entries(lock.packages)) {
  if (others.optional || others.devOptional) lock.packages[path] = others;
}
writeFileSync(file, `${JSON.stringify(lock, undefined, 2)}\n`);
