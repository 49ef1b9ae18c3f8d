import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const LICENSE_FILE = /^(?:licen[cs]e|notice|copying)\b|\.license\.txt$/i;

/** The licenses of the packages that these files of `node_modules` belong to, as one text. Ignores other files. */
export async function licensesOf(files: readonly string[]): Promise<string> {
  const directories = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file) ?? []);
  const texts = [...new Set(directories)].map(licenseOf);
  return (await Promise.all(texts)).toSorted().join('\n');
}

/** @throws {Error} when the package does not say what its license is */
async function licenseOf(directory: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'));
  if (typeof license !== 'string') throw new Error(`no license in the package.json of ${name}`);
  const names = (await readdir(directory)).filter((file) => LICENSE_FILE.test(file));
  const texts = names.toSorted().map((file) => readFile(join(directory, file), 'utf8'));
  return [`==== ${name} ${version}: ${license} ====\n`, ...(await Promise.all(texts))].join('\n');
}
