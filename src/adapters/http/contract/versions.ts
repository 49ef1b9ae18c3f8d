/** A version of the API, as the first segment of the path of each of its operations. */
export const V1 = '/v1';

export const API_VERSIONS = [V1] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

const VERSIONED = new RegExp(`^(?:${API_VERSIONS.join('|')})(?:/|$)`);

/** Whether a path or the pattern of a route lies in a version of the API, whether or not there is an operation. */
export function isVersioned(path: string): boolean {
  return VERSIONED.test(path);
}
