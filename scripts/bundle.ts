import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import mongodb from 'mongodb/package.json' with { type: 'json' };
import { rolldown } from 'rolldown';
import { FILE_NAMES, TEMPLATE } from '../src/adapters/http/openapi/docs-page.ts';
import { licensesOf } from './licenses.ts';

export const ROOT = resolve(import.meta.dirname, '..');

/** The paths of the files of the docs page, by name. */
export const PAGE_FILES = Object.fromEntries(
  [...FILE_NAMES, TEMPLATE].map((name) => [name, createRequire(import.meta.url).resolve(`#page/${name}`)]),
);

/**
 * Bundles the service and its libraries as JavaScript.
 *
 * @param directory gets `main.cjs`, its source map, and with `split` the files that it loads on use
 * @returns the licenses of the packages in the bundle and in the docs page
 * @throws {Error} on any warning of the bundler
 */
export async function bundle(directory: string, { split }: { readonly split: boolean }): Promise<string> {
  const commit = process.env['PETSTORE_COMMIT'] || checkedOutCommit();
  await using build = await rolldown({
    input: { main: join(ROOT, 'src/main/main.ts') },
    platform: 'node',
    transform: { define: { BUNDLED_COMMIT: JSON.stringify(commit) } },
    // The driver works without them. Some options of its URL need one.
    external: Object.keys(mongodb.peerDependencies),
    // `depd` wraps functions with it.
    checks: { eval: false },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  const { output } = await build.write({
    dir: directory,
    codeSplitting: split,
    // An `import` of node:http in an ES module loads Node's WebSocket as well: 40 ms of CPU time at each start.
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // As if the bundle were in a folder of the root directory. No path of this machine gets into the source map.
    sourcemapPathTransform: (source, map) => join('..', relative(ROOT, resolve(dirname(map), source))),
  });
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return await licensesOf([...modules, ...Object.values(PAGE_FILES)]);
}

/** `unknown` without git or a repository. A directory above that is one says nothing about this one. */
function checkedOutCommit(): string {
  const { stdout } = spawnSync('git', ['--git-dir=.git', 'rev-parse', 'HEAD'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return stdout?.trim() || 'unknown';
}
