/**
 * Prints deploy/licences.md: the licences of the production dependencies, as their packages declare them.
 *
 *   node scripts/list-licences.ts > deploy/licences.md
 */
import { productionLock } from './production-lock.ts';

const [, ...packages] = Object.entries(productionLock().lock.packages);
const byLicence = Object.groupBy(packages, ([, { license = 'not declared' }]) => license);
const rows = Object.entries(byLicence).toSorted(([a], [b]) => (a < b ? -1 : 1));

console.log(`# Licences

Written by \`npm run licences\`: do not edit. These packages are in every form of the service, directly or through
another. Node.js itself, which the executable and the image contain, is under the MIT licence and those of its parts.
The texts of all licences are in \`THIRD-PARTY-LICENSES.txt\` of the npm package. Petstore is under the
[MIT licence](../LICENSE).

| licence | packages |
|---|---|`);
for (const [licence, found = []] of rows) {
  const names = found.map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`);
  console.log(`| ${licence} | ${[...new Set(names)].toSorted().join(', ')} |`);
}
