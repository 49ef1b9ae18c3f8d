/** The environment without empty variables. */
export type Given = Readonly<Record<string, string>>;

/** A text is not what its variable may be. The message is the rule, for a sentence that begins with the variable. */
export class Refused extends Error {}

/** Everything about one variable. */
export type Row<Value = unknown> = {
  readonly name: string;
  /**
   * Its form: makes its value of a text.
   *
   * @throws {Refused}
   */
  readonly parse: (text: string) => Value;
  /** The text that applies when the variable is not set. */
  readonly initial?: string;
  /** Its meaning, for `--help` and `.env.example`. */
  readonly help: string;
};

type Rows = Readonly<Record<string, Row>>;

/** The values of variables, under the keys of their rows. */
type ValuesOf<R extends Rows> = {
  readonly [Key in keyof R]: R[Key] extends Row<infer Value> ? Value : never;
};

/** A variable with a default. */
export function row<V>(name: string, parse: Row<V>['parse'], initial: string, help: string): Row<V> {
  return { name, parse, initial, help };
}

/** A variable without a default. */
export function optional<V>(name: string, parse: Row<V>['parse'], help = ''): Row<V | undefined> {
  return { name, parse, help };
}

/**
 * Reads the variables of the rows.
 *
 * @returns their values, of which those of invalid variables are `undefined`, and a line for each invalid variable with
 *   its rule. A value may be a secret, so no line has one
 */
export function readRows<R extends Rows>(rows: R, given: Given) {
  const problems: string[] = [];
  const values = Object.entries(rows).map(([key, { name, parse, initial }]) => {
    const text = given[name] ?? initial;
    try {
      return [key, text === undefined ? undefined : parse(text)];
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      problems.push(`${name} ${error.message}`);
      return [key, undefined];
    }
  });
  return { values: Object.fromEntries(values) as ValuesOf<R>, problems };
}
