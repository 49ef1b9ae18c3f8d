import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CACHE, cacheFileOfWheel } from '../support/python-wheel.ts';

// A package on PyPI with the schemas of the Kubernetes API, in the form that refuses unknown fields.
// https://github.com/willthames/kubernetes-validate
const VERSION = '1.37.0';
const WHEEL = {
  requirement: `kubernetes-validate==${VERSION}`,
  sha256: '85136d018a27b50ec7fc049d902bfa5193f5976807e6c0f408e3ab6fe078cad9',
};
const DEFINITIONS = `/v${VERSION}-local-strict/_definitions.json`;

type Manifest = { readonly apiVersion: string; readonly kind: string; readonly spec?: unknown };

type Definition = {
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
};

/** Returns the problems of a manifest. The list is empty if the manifest is valid. */
export type FindProblems = (manifest: Manifest) => readonly string[];

/**
 * Returns a function that checks a manifest against the schemas of the Kubernetes API. The schemas are downloaded once
 * into the user's cache.
 *
 * @throws {Error} when the schemas cannot be downloaded
 */
export async function kubernetesSchemas(): Promise<FindProblems> {
  const document: { $id: string; $defs: Record<string, Definition> } = JSON.parse(await definitions());
  // The formats, such as int32, are formats of OpenAPI. The types already say the same.
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false }).addSchema(document);
  const names = new Map(
    Object.entries(document.$defs).flatMap(([name, definition]) =>
      (definition['x-kubernetes-group-version-kind'] ?? []).map(({ group, version, kind }) => {
        return [`${group === '' ? version : `${group}/${version}`} ${kind}`, name] as const;
      }),
    ),
  );
  return (manifest) => {
    const name = names.get(`${manifest.apiVersion} ${manifest.kind}`);
    const validate = name && ajv.getSchema(`${document.$id}#/$defs/${name}`);
    if (!validate) return [`Kubernetes ${VERSION} has no ${manifest.kind} in ${manifest.apiVersion}`];
    if (validate(manifest)) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) => {
      const { additionalProperty: field } = params as { readonly additionalProperty?: string };
      return `${instancePath} ${message}${field === undefined ? '' : ` (${field})`}`;
    });
  };
}

async function definitions(): Promise<string> {
  const path = join(CACHE, `kubernetes-${VERSION}-${WHEEL.sha256.slice(0, 12)}.json`);
  const cached = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (cached !== undefined) return cached;
  console.log(`Kubernetes for the tests: fetching the schemas of ${VERSION} (23 MB, once)`);
  await cacheFileOfWheel(WHEEL, DEFINITIONS, path);
  return readFile(path, 'utf8');
}
