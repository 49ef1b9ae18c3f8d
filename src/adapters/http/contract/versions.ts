export const V1 = '/v1';

export const API_VERSIONS = [V1] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

const VERSIONED_PATH = new RegExp(`^(?:${API_VERSIONS.join('|')})(?:/|$)`);

/** The path need not have a route. */
export function isVersioned(path: string): boolean {
  return VERSIONED_PATH.test(path);
}
