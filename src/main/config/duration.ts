const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const FORM = /^(0|[1-9]\d{0,6})(ms|s|m|h|d)$/;

/** The milliseconds of a duration such as `500ms`, `25s`, `2m`, `24h` or `365d`; `undefined` for any other text. */
export function parseDurationMs(text: string): number | undefined {
  const [, digits, unit] = FORM.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * UNITS[unit as keyof typeof UNITS];
}
