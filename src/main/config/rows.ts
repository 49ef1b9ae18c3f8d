/** The environment without empty variables. */
export type SetVariables = Readonly<Record<string, string>>;

/** The message is the rule that the value breaks, without the name of the variable. */
export class Refused extends Error {}

export type Row<Value = unknown> = {
  readonly name: string;
  readonly parse: (text: string) => Value;
  readonly initial?: string;
  /** The text in `--help` and `.env.example`. */
  readonly help: string;
};

type Rows = Readonly<Record<string, Row>>;

type ValuesOf<R extends Rows> = {
  readonly [Key in keyof R]: R[Key] extends Row<infer Value> ? Value : never;
};

export function row<V>(name: string, parse: Row<V>['parse'], initial: string, help: string): Row<V> {
  return { name, parse, initial, help };
}

export function optional<V>(name: string, parse: Row<V>['parse'], help = ''): Row<V | undefined> {
  return { name, parse, help };
}

/** @returns one problem per invalid variable: its name and its rule */
export function readRows<R extends Rows>(rows: R, environment: SetVariables) {
  const problems: string[] = [];
  const values = Object.entries(rows).map(([key, { name, parse, initial }]) => {
    const text = environment[name] ?? initial;
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
