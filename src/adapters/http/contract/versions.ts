export const V1 = '/v1';

export const API_VERSIONS = [V1] as const;
export type ApiVersion = (typeof API_VERSIONS)[number];

const VERSIONED = new RegExp(`^(?:${API_VERSIONS.join('|')})(?:/|$)`);

/** True below a version, also where no operation is. */
export function isVersioned(path: string): boolean {
  return VERSIONED.test(path);
}
