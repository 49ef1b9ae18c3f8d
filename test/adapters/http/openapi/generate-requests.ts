import fc from 'fast-check';
import { int64, text } from '../../../properties/arbitraries.ts';
import { type Spelled, spell, spelledKey, spelledValue } from '../../../properties/json-arbitraries.ts';

/** A schema of the document. A keyword that is not here fails the tests: see {@link KEYWORDS}. */
export type Schema = {
  readonly $ref?: string;
  readonly type?: 'string' | 'integer' | 'object';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: 'int64';
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly example?: unknown;
  readonly default?: unknown;
};

/** What the schemas of requests may use. True for a constraint. */
const KEYWORDS = {
  $ref: false,
  type: true,
  enum: true,
  minimum: true,
  maximum: true,
  minLength: true,
  maxLength: true,
  pattern: true,
  format: true,
  properties: true,
  required: true,
  description: false,
  example: false,
  default: false,
} satisfies Record<keyof Schema, boolean>;

/** A constraint of the document, as its path in the schema, and texts of values that break it and nothing else. */
export type Violation = { readonly constraint: string; readonly json: fc.Arbitrary<string> };

export class SchemaGenerator {
  readonly #resolve: (ref: string) => Schema;

  /** @param resolve finds the target of a `$ref` */
  constructor(resolve: (ref: string) => Schema) {
    this.#resolve = resolve;
  }

  /** The schema itself. @throws {Error} for a keyword that this generator does not know */
  deref(schema: Schema): Schema {
    const found = schema.$ref === undefined ? schema : this.#resolve(schema.$ref);
    for (const keyword of Object.keys(found)) {
      if (!Object.hasOwn(KEYWORDS, keyword)) throw new Error(`no values are generated for ${keyword}`);
    }
    return found;
  }

  /** The values that the schema admits, in all their spellings. */
  valid(schema: Schema): fc.Arbitrary<Spelled> {
    const found = this.deref(schema);
    if (found.enum !== undefined) return spelled(fc.constantFrom(...found.enum));
    if (found.type === 'integer') {
      return fc
        .tuple(integers(found), fc.nat(3), fc.nat(3))
        .map(([value, form, zeros]) => ({ json: spellInteger(value, form, zeros), value }));
    }
    if (found.type === 'string') return spelled(strings(found));
    return this.#object(found).map(spellObject);
  }

  /** For each constraint of the schema, values that break it. */
  violations(schema: Schema): Violation[] {
    const found = this.deref(schema);
    const { properties = {}, required = [], ...rest } = found;
    const own = Object.keys(rest).filter(
      (keyword) => KEYWORDS[keyword as keyof Schema],
    ) as (keyof typeof BREAK)[];
    return [
      ...own.map((keyword) => ({ constraint: keyword, json: BREAK[keyword](found) })),
      ...required.map((name) => ({
        constraint: `required ${name}`,
        json: this.#object(found).map(
          (fields) => spellObject(fields.filter(([key]) => key.value !== name)).json,
        ),
      })),
      ...Object.entries(properties).flatMap(([name, property]) =>
        this.violations(property).map(({ constraint, json }) => ({
          constraint: `${name} ${constraint}`,
          json: fc.tuple(this.#object(found), json).map(([fields, bad]) => {
            const others = fields.filter(([key]) => key.value !== name);
            return spellObject([
              ...others,
              [
                { json: JSON.stringify(name), value: name },
                { json: bad, value: undefined },
              ],
            ]).json;
          }),
        })),
      ),
    ];
  }

  /** Every required property, some of the others, and fields that the schema does not know: it is open. */
  #object({ properties = {}, required = [] }: Schema): fc.Arbitrary<Field[]> {
    const fields = Object.entries(properties).map(([name, property]) => {
      const field = fc
        .tuple(this.valid(property), fc.nat())
        .map(([value, bits]): Field[] => [[{ json: spell(name, bits), value: name }, value]]);
      return required.includes(name) ? field : fc.oneof(field, fc.constant<Field[]>([]));
    });
    const unknown = fc
      .tuple(spelledKey, spelledValue)
      .filter(([key]) => !Object.hasOwn(properties, key.value));
    return fc
      .tuple(
        fc.tuple(...fields).map((all) => all.flat()),
        fc.array(unknown, { maxLength: 3 }),
      )
      .chain(([known, others]) =>
        fc.shuffledSubarray([...known, ...others], { minLength: known.length + others.length }),
      );
  }
}

type Field = [key: Spelled & { readonly value: string }, value: Spelled];

function spellObject(fields: readonly Field[]): Spelled {
  return {
    json: `{${fields.map(([key, { json }]) => `${key.json}:${json}`).join(',')}}`,
    value: Object.fromEntries(fields.map(([key, { value }]) => [key.value, value])),
  };
}

function spelled(values: fc.Arbitrary<string>): fc.Arbitrary<Spelled> {
  return fc.tuple(values, fc.nat()).map(([value, bits]) => ({ json: spell(value, bits), value }));
}

function spellInteger(value: bigint, form: number, zeros: number): string {
  const forms = [
    `${value}`,
    `${value}.${'0'.repeat(zeros + 1)}`,
    `${value * 10n ** BigInt(zeros)}e-${zeros}`,
  ];
  return forms[form] ?? `${value}E+0`;
}

function integers({ minimum, maximum }: Schema): fc.Arbitrary<bigint> {
  if (minimum === undefined && maximum === undefined) return int64;
  return fc.bigInt({ min: BigInt(minimum ?? -(2 ** 31)), max: BigInt(maximum ?? 2 ** 31) });
}

const codePoints = (value: string) => Array.from(value).length;

function matches({ pattern }: Schema, value: string): boolean {
  return pattern === undefined || new RegExp(pattern, 'u').test(value);
}

/** Strings of these lengths that match the pattern. A lone surrogate is no character, so no schema admits one. */
function strings(schema: Schema): fc.Arbitrary<string> {
  const { pattern, minLength = 0, maxLength = 300 } = schema;
  const some = fc.string({ unit: 'binary', minLength, maxLength });
  const long = fc.string({
    unit: fc.constantFrom('a', ' ', '\u{1f415}'),
    minLength: Math.max(minLength, maxLength - 2),
    maxLength,
  });
  const matching = pattern === undefined ? some : fc.stringMatching(new RegExp(pattern));
  return fc.oneof(some, long, matching).filter((value) => {
    const length = codePoints(value);
    return value.isWellFormed() && length >= minLength && length <= maxLength && matches(schema, value);
  });
}

const json = (values: fc.Arbitrary<string>) => spelled(values).map((one) => one.json);
const otherJson = (isOther: (value: unknown) => boolean) =>
  spelledValue.filter(({ value }) => isOther(value)).map((one) => one.json);

/** Values that break a constraint of a schema and, where that is possible, nothing else. */
const BREAK = {
  type: ({ type }: Schema) =>
    otherJson((value) => {
      if (type === 'string') return typeof value !== 'string';
      if (type === 'integer') return typeof value !== 'bigint' && !Number.isInteger(value);
      return typeof value !== 'object' || value === null || Array.isArray(value);
    }),
  enum: ({ enum: allowed = [] }: Schema) => {
    const near = fc
      .tuple(
        fc.constantFrom(...allowed),
        fc.constantFrom<(value: string) => string>(
          (v) => v.toUpperCase(),
          (v) => `${v} `,
          (v) => ` ${v}`,
          (v) => v.slice(1),
          (v) => `${v}\0`,
          () => '',
        ),
      )
      .map(([value, change]) => change(value));
    return json(fc.oneof(near, text).filter((value) => !allowed.includes(value)));
  },
  minimum: ({ minimum = 0 }: Schema) =>
    fc.bigInt({ min: -(2n ** 63n), max: BigInt(minimum) - 1n }).map(String),
  maximum: ({ maximum = 0 }: Schema) =>
    fc.bigInt({ min: BigInt(maximum) + 1n, max: 2n ** 63n - 1n }).map(String),
  minLength: ({ minLength = 0 }: Schema) => json(fc.string({ unit: 'binary', maxLength: minLength - 1 })),
  maxLength: (schema: Schema) =>
    json(
      fc
        .string({
          unit: fc.constantFrom('a', '\u{1f415}'),
          minLength: (schema.maxLength ?? 0) + 1,
          maxLength: (schema.maxLength ?? 0) + 300,
        })
        .filter((value) => matches(schema, value)),
    ),
  pattern: (schema: Schema) => {
    const { minLength = 0, maxLength = 300 } = schema;
    const blank = fc.string({
      unit: fc.constantFrom(' ', '\u3000', '\ufeff', '\u00a0'),
      minLength: Math.max(1, minLength),
      maxLength,
    });
    const control = fc
      .tuple(
        strings({ ...schema, maxLength: maxLength - 1 }),
        fc.nat(),
        fc.constantFrom('\0', '\t', '\n', '\u001f', '\u007f'),
      )
      .map(
        ([value, at, mark]) =>
          value.slice(0, at % (value.length + 1)) + mark + value.slice(at % (value.length + 1)),
      );
    return json(
      fc
        .oneof(blank, control, text)
        .filter(
          (value) =>
            value.isWellFormed() &&
            codePoints(value) >= minLength &&
            codePoints(value) <= maxLength &&
            !matches(schema, value),
        ),
    );
  },
  format: () =>
    fc
      .oneof(
        fc.bigInt({ min: 2n ** 63n, max: 2n ** 70n }),
        fc.bigInt({ min: -(2n ** 70n), max: -(2n ** 63n) - 1n }),
      )
      .map(String),
} satisfies Partial<Record<keyof Schema, (schema: Schema) => fc.Arbitrary<string>>>;
