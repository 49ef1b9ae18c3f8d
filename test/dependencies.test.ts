import { expect, it } from 'vitest';
import lock from '../package-lock.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import { readDocument, tableOf } from './support/document.ts';
import { run } from './support/process.ts';

/** Licences that require no more than a copy of their text. */
const ALLOWED_LICENCES = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

/** A software bill of materials in the format CycloneDX. `purl` is the URL of a package, with its version. */
type Bom = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: unknown };
  readonly components: readonly {
    readonly purl: string;
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses: readonly { readonly license: { readonly id: string } }[];
  }[];
};

const licencePage = await readDocument('deploy/licences.md');
const licenceRows = tableOf(licencePage, 'Licences').map(([licence = '', packages = '']) => ({
  licence,
  packages: packages.split(', '),
}));

// The table of the service has the columns package, reason and replacement. The other table has no replacement.
it.each([
  ['In the service', 3, { ...packageJson.dependencies, ...packageJson.optionalDependencies }],
  ['For development', 2, packageJson.devDependencies],
])(
  'the table "%s" of docs/decisions.md has a row for each direct dependency, and no empty cell',
  async (section, columnCount, dependencies) => {
    const tableRows = tableOf(await readDocument('docs/decisions.md'), section);

    expect(tableRows.map(([name]) => name)).toStrictEqual(Object.keys(dependencies));
    expect(tableRows.filter((cells) => cells.length !== columnCount || cells.includes(''))).toStrictEqual([]);
  },
);

// `engines` has the required versions of Node. `npm run relax-lock` removes it. The reason is in scripts/relax-lock.ts.
it('no optional package in the lock file requires a version of Node, because npm may run on an old Node', () => {
  const optional = Object.values(lock.packages).filter((one) => 'optional' in one || 'devOptional' in one);
  expect(optional.filter((one) => 'engines' in one)).toStrictEqual([]);
});

it('deploy/licences.md is the output of `npm run licences`', async () => {
  expect(await run(process.execPath, ['scripts/list-licences.ts']).succeeded()).toBe(licencePage);
});

it('the licences of all production packages are allowed', () => {
  expect(licenceRows.filter(({ licence }) => !ALLOWED_LICENCES.includes(licence))).toStrictEqual([]);
});

it('the software bill of materials has the production dependencies with hashes and licences', async () => {
  const bom = JSON.parse(await run('npm', ['run', '--silent', 'sbom']).succeeded()) as Bom;

  const { name, version } = packageJson;
  expect([bom.bomFormat, bom.metadata.component]).toMatchObject([
    'CycloneDX',
    { type: 'application', name, purl: `pkg:npm/${name}@${version}` },
  ]);
  const listed = licenceRows.flatMap(({ licence, packages }) => packages.map((one) => `${one}: ${licence}`));
  const found = bom.components.map((component) => {
    const [, pkg = '', installed = ''] =
      /^pkg:npm\/(.*)@(.*)$/.exec(decodeURIComponent(component.purl)) ?? [];
    return `${pkg} ${installed}: ${component.licenses.map(({ license }) => license.id).join()}`;
  });
  expect(found.toSorted()).toStrictEqual(listed.toSorted());
  expect(bom.components.filter(({ hashes }) => hashes[0]?.alg !== 'SHA-512')).toStrictEqual([]);
});
