/** The deprecation of an operation. */
export type Deprecation = {
  readonly since: Date;
  /** The instant from which the operation is gone, the first of a day. */
  readonly sunset: Date;
  /** What to use instead: method and path. */
  readonly replacement: string;
};

/** RFC 9745, in seconds since 1970, and RFC 8594. */
export function deprecationHeaders({ since, sunset }: Deprecation) {
  return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
}

/** The value of `Link`: where the page at `/docs` shows the operation with this name. */
export function deprecationLink(base: string, name: string): string {
  return `<${base}/docs#${name}>; rel="deprecation"; type="text/html"`;
}

/** The first day without the operation, as `2030-12-05`. */
export function sunsetDay({ sunset }: Deprecation): string {
  return sunset.toISOString().slice(0, 10);
}

export function isSunset({ sunset }: Deprecation, now: Date): boolean {
  return now.getTime() >= sunset.getTime();
}
