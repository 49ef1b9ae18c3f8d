import { access, glob, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { blocksOf, readDocuments } from './support/document.ts';
import { ROOT } from './support/process.ts';

const MAX_LINE_LENGTH = 120;

/**
 * The languages of code blocks that have no commands. A block with another language, or with no language, counts as
 * commands. A block of `ts` is an excerpt of a source file.
 */
const NO_COMMANDS = ['console', 'diff', 'json', 'mermaid', 'text', 'ts'];

/** The sections whose commands a test runs, by document. A comment names the tests of the documents below it. */
const TESTED_SECTIONS = new Map([
  // test/readme.test.ts
  ['README.md', 'Run it, A tour'],
  // npm run test:clients
  [
    'examples/clients/README.md',
    'Run one, curl, TypeScript, Python, Go, Java, A feed of new animals, Other generators',
  ],
  // test/operations
  ['docs/how-to/manage-keys.md', 'Create keys, Rotate keys, Revoke a key, Keys in containers'],
  [
    'docs/how-to/back-up-and-restore.md',
    'Back up, A file of `petstore backup`, Another SQLite file, A dump of MongoDB, MongoDB from a SQLite file',
  ],
  ['docs/how-to/move-pets.md', 'From SQLite to MongoDB, Export and import a file'],
  ['docs/how-to/upgrade.md', 'Upgrade SQLite, Go back to the earlier release, Upgrade MongoDB'],
  ['docs/how-to/lose-a-member-or-the-machine.md', 'One member is gone, Two members are lost for good'],
  ['docs/how-to/use-metrics-and-traces.md', 'Turn metrics on'],
  ['docs/how-to/what-went-wrong.md', 'When a record is damaged'],
  ['docs/how-to/run-in-containers-or-under-systemd.md', 'systemd'],
  // test/deploy/proxies.test.ts
  [
    'docs/how-to/run-several-services-behind-a-proxy.md',
    'Start the services, Start the proxy, Restart the services, Restart the services behind nginx',
  ],
  // test/main/service/tls.test.ts
  ['docs/how-to/use-tls.md', 'Try it'],
  // test/guide
  [
    'docs/guide/a-first-day.md',
    'Start the service, Create a key, Add a first pet, Read a page of pets, See an error, Make a backup, ' +
      'Restore a copy, The end',
  ],
  [
    'docs/guide/exchange-an-adapter.md',
    'What you build, `json-file.ts`: a file that is replaced whole, `pet-repository.ts`: the pets, ' +
      '`api-key-repository.ts`: the API keys, `storage.ts`: how the program opens it, Tell the program, ' +
      'Hold it to the contracts, Break it on purpose, Run a service on it',
  ],
]);

/** The documents that stand beside the files that they describe. */
const besideFiles = '{deploy,bench,proof,examples/{changes,clients}}/*.md';
const patterns = ['*.md', 'docs/**/*.md', besideFiles, 'proof/*/results.md', '.github/*.md'];
const documents = await readDocuments(patterns);

describe.each([...documents])('%s', (path, text) => {
  it('links only to files and headings that exist', async () => {
    const prose = withoutCode(text);
    const links = Array.from(prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g));
    const broken = links.map(async ([link, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      const hasAnchor = anchor === undefined || anchorsOf(documents.get(target) ?? '').includes(anchor);
      return (await exists(target)) && hasAnchor ? [] : [link];
    });
    expect((await Promise.all(broken)).flat()).toStrictEqual([]);
  });

  it('names only folders and files that exist', async () => {
    const named = Array.from(
      text.matchAll(/(?<![\w/.-])(?:src|test|proof|bench|docs|deploy|examples|scripts|\.ci)\/[\w./@-]*\w/g),
      ([name]) => name,
    );
    const missing = named.map(async (name) => ((await exists(name)) ? [] : [name]));
    expect((await Promise.all(missing)).flat()).toStrictEqual([]);
  });

  it('shows only TypeScript that is in the file that the line above the code block names', async () => {
    const blocks = Array.from(text.matchAll(/(?:^From \[[^\n]*\]\(([^\n]*)\):\n\n)?^```ts\n(.*?)^```$/gms));
    const wrong = blocks.map(async ([, file, code = '']) => {
      const source = file === undefined ? '' : await readFile(join(ROOT, dirname(path), file), 'utf8');
      return isExcerpt(code, source) ? [] : [code];
    });
    expect((await Promise.all(wrong)).flat()).toStrictEqual([]);
  });

  // Programs write the documents `results.md`, and the lines of these may be longer. The tests below leave them out.
  if (path.endsWith('/results.md')) return;

  it(`has no line longer than ${MAX_LINE_LENGTH} characters outside tables and code`, () => {
    const lines = withoutCode(text).split('\n');
    const tooLong = lines.filter((line) => line.length > MAX_LINE_LENGTH && !line.startsWith('|'));
    expect(tooLong).toStrictEqual([]);
  });

  // The tests in test/deploy test the files in deploy. The documents there also have commands for images and clusters,
  // which no test runs.
  if (path.startsWith('deploy/')) return;

  it('has commands in exactly the sections whose commands a test runs', () => {
    const commands = blocksOf(text).filter(({ language }) => !NO_COMMANDS.includes(language));
    const sections = new Set(commands.map(({ section }) => section));
    expect([...sections].join(', ')).toBe(TESTED_SECTIONS.get(path) ?? '');
  });

  if (!path.startsWith('examples/changes/')) return;

  it('shows only lines of the patch that has the name of the document', async () => {
    const patch = await readFile(join(ROOT, path.replace(/md$/, 'patch')), 'utf8');
    const shown = blocksOf(text).filter(({ language }) => language === 'diff');
    const lines = shown.flatMap((block) => block.text.trimEnd().split('\n'));
    expect(lines.filter((line) => !patch.includes(`\n${line}\n`))).toStrictEqual([]);
  });
});

it('docs/README.md lists every document in docs', () => {
  const list = documents.get('docs/README.md') ?? '';
  const links = Array.from(list.matchAll(/^- \[.*?\]\((.*?)\)/gm), ([, file = '']) => join('docs', file));
  const listed = links.filter((path) => path.startsWith('docs/'));
  const pages = [...documents.keys()].filter((path) => /^docs\/(?!README)/.test(path));
  expect(listed.toSorted()).toStrictEqual(pages);
});

it('the diagram of the architecture shows every folder of src', async () => {
  const [, picture = ''] =
    /^```mermaid\n(.*?)^```$/ms.exec(documents.get('docs/explanation/architecture.md') ?? '') ?? [];
  const drawn = Array.from(picture.matchAll(/"([\w/-]+)"/g), ([, name = '']) => name.replace(/^src\//, ''));
  const globs = ['*', 'application/*', 'adapters/*', 'adapters/http/*', 'main/*'];
  const entries = await Array.fromAsync(glob(globs, { cwd: join(ROOT, 'src'), withFileTypes: true }));
  const folders = entries
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(join(ROOT, 'src'), join(parentPath, name)));
  expect(drawn.toSorted()).toStrictEqual(folders.toSorted());
});

it('the files to read first have the number of lines that their heading says, give or take 50', async () => {
  const [, lines = '', list = ''] =
    /^## The (\d+) lines to read first\n(.*?)^## /ms.exec(
      documents.get('docs/explanation/architecture.md') ?? '',
    ) ?? [];
  const files = Array.from(list.matchAll(/\]\(\.\.\/\.\.\/(.*?)\)/g), ([, path = '']) =>
    readFile(join(ROOT, path), 'utf8'),
  );
  const lineCounts = (await Promise.all(files)).map((text) => text.split('\n').length - 1);
  expect(lineCounts.reduce((sum, count) => sum + count)).toBeCloseTo(Number(lines), -2);
});

/** Returns the text without its code blocks. */
function withoutCode(text: string): string {
  return text.replaceAll(/^( *)```.*?^\1```$/gms, '');
}

/** Returns whether the code is in the source. Indentation is ignored, and a line `// …` stands for any lines. */
function isExcerpt(code: string, source: string): boolean {
  const pieces = code.replaceAll(/^ +/gm, '').split(/^\/\/ …\n/m);
  const pattern = pieces.map((piece) => RegExp.escape(piece)).join('(?:.*\n)*?');
  return new RegExp(`^${pattern}`, 'm').test(source.replaceAll(/^ +/gm, ''));
}

/** Returns the anchors that GitHub gives the headings of a document. */
function anchorsOf(text: string): readonly string[] {
  const headings = withoutCode(text).matchAll(/^#+ (.*)$/gm);
  return Array.from(headings, ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

async function exists(path: string): Promise<boolean> {
  return access(join(ROOT, path)).then(
    () => true,
    () => false,
  );
}
