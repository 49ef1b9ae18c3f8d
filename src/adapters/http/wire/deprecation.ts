/** getPet has been deprecated since 1.0.0 was published, on 20 November 2026: RFC 9745. */
export const DEPRECATION = '@1795132800';

/** The pattern of getPet's path. */
export const DEPRECATED_ROUTE = '/v1/pets/:petId';

/** The first day without getPet. */
export const SUNSET_DATE = '2030-12-05';

/** The instant at which getPet is removed: RFC 8594. */
export const SUNSET = new Date(`${SUNSET_DATE}T00:00:00Z`);

/** The instant as a header field: RFC 8594. */
export const SUNSET_HEADER = SUNSET.toUTCString();

export function isSunset(now: Date): boolean {
  return now.getTime() >= SUNSET.getTime();
}
