export type Deprecation = {
  /** The operation has been deprecated since this instant. */
  readonly since: Date;
  /** The instant of the removal: the beginning of a day in UTC. */
  readonly sunset: Date;
  /** Method and path of the new operation. */
  readonly replacement: string;
};

/** `Deprecation` has the seconds since 1970 (RFC 9745). RFC 8594 defines `Sunset`. */
export function deprecationHeaders({ since, sunset }: Deprecation) {
  return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
}

export function deprecationLink(base: string, operationName: string): string {
  return `<${base}/docs#${operationName}>; rel="deprecation"; type="text/html"`;
}

/** The first day without the operation, as `2030-12-05`. */
export function sunsetDay({ sunset }: Deprecation): string {
  return sunset.toISOString().slice(0, 10);
}

export function isSunset({ sunset }: Deprecation, now: Date): boolean {
  return now.getTime() >= sunset.getTime();
}
