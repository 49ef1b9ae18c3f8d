import { readFileSync } from 'node:fs';

type LockedPackage = {
  readonly version: string;
  readonly license?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly devOptional?: true;
};

export type ProductionLock = {
  /** `package.json` with production dependencies only. */
  readonly manifest: { readonly name: string };
  /** `package-lock.json` with the packages that they need. */
  readonly lock: { readonly packages: Readonly<Record<string, LockedPackage>> };
};

/** What every form of the service contains. The optional packages are Node itself, and types for libraries. */
export function productionLock(): ProductionLock {
  const { devDependencies: _d, optionalDependencies: _o, ...manifest } = read('package.json');
  const lock = read('package-lock.json');
  const packages = Object.entries<LockedPackage>(lock.packages).filter(
    ([path, { dev, optional, devOptional }]) => path !== '' && !dev && !optional && !devOptional,
  );
  return { manifest, lock: { ...lock, packages: { '': manifest, ...Object.fromEntries(packages) } } };
}

function read(name: string) {
  return JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));
}
