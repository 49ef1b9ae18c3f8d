import { expect, it } from 'vitest';
import lock from '../package-lock.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import { readDocument, tableOf } from './support/document.ts';
import { run } from './support/process.ts';

/** Licences that only require a copy of their text. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

type Bom = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: unknown };
  readonly components: readonly {
    readonly purl: string;
    readonly hashes: readonly { readonly alg: string; readonly content: string }[];
    readonly licenses: readonly { readonly license: { readonly id: string } }[];
  }[];
};

const page = await readDocument('deploy/licences.md');
const rows = tableOf(page, 'Licences').map(([licence = '', packages = '']) => ({
  licence,
  packages: packages.split(', '),
}));

it.each([
  ['In the service', 3, { ...packageJson.dependencies, ...packageJson.optionalDependencies }],
  ['For development', 2, packageJson.devDependencies],
])(
  'the table "%s" gives a reason for each direct dependency, and for those of the service a replacement',
  async (section, columns, dependencies) => {
    const reasons = tableOf(await readDocument('docs/decisions.md'), section);

    expect(reasons.map(([name]) => name)).toStrictEqual(Object.keys(dependencies));
    expect(reasons.filter((cells) => cells.length !== columns || cells.includes(''))).toStrictEqual([]);
  },
);

// `npm run relax-lock` removes `engines`. The reason is in scripts/relax-lock.ts.
it('the optional packages in the lock file require no version of Node, because npm may run on an older one', () => {
  const optional = Object.values(lock.packages).filter((one) => 'optional' in one || 'devOptional' in one);
  expect(optional.filter((one) => 'engines' in one)).toStrictEqual([]);
});

it('deploy/licences.md is the output of `npm run licences`', async () => {
  expect(await run(process.execPath, ['scripts/list-licences.ts']).succeeded()).toBe(page);
});

it('the licences of all packages are allowed', () => {
  expect(rows.map(({ licence }) => licence).filter((licence) => !ALLOWED.includes(licence))).toStrictEqual(
    [],
  );
});

it('the software bill of materials has the production dependencies with hashes and licences', async () => {
  const bom = JSON.parse(await run('npm', ['run', '--silent', 'sbom']).succeeded()) as Bom;

  const { name, version } = packageJson;
  expect([bom.bomFormat, bom.metadata.component]).toMatchObject([
    'CycloneDX',
    { type: 'application', name, purl: `pkg:npm/${name}@${version}` },
  ]);
  const listed = rows.flatMap(({ licence, packages }) => packages.map((one) => `${one}: ${licence}`));
  const found = bom.components.map((component) => {
    const [, id = '', installed = ''] = /^pkg:npm\/(.*)@(.*)$/.exec(decodeURIComponent(component.purl)) ?? [];
    return `${id} ${installed}: ${component.licenses.map(({ license }) => license.id).join()}`;
  });
  expect(found.toSorted()).toStrictEqual(listed.toSorted());
  expect(bom.components.filter(({ hashes }) => hashes[0]?.alg !== 'SHA-512')).toStrictEqual([]);
});
