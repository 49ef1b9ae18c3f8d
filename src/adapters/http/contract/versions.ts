export const V1 = '/v1';

export const API_VERSIONS = [V1] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

const VERSIONED = new RegExp(`^(?:${API_VERSIONS.join('|')})(?:/|$)`);

/** Whether the path is under a version such as `/v1`. A route need not exist. */
export function isVersioned(path: string): boolean {
  return VERSIONED.test(path);
}
