type Method = (...args: never) => Promise<unknown>;

/** Wraps each call of a method. */
type Advice<M extends Method> = <Result extends Awaited<ReturnType<M>>>(
  call: () => Promise<Result>,
  args: Parameters<M>,
) => Promise<Result>;

/** The wrapped methods. */
type Named<Names> = { [M in keyof Names]: Names[M] extends undefined ? never : M }[keyof Names];

/**
 * Makes a port that wraps each call of another port.
 *
 * @param names a name for each method, or `undefined` for a method that is not wrapped. A new method without an entry
 *   does not compile
 * @param advice called once per method
 */
export function around<
  Port extends { readonly [M in keyof Port]: Method },
  const Names extends { readonly [M in keyof Port]: string | undefined },
>(
  port: Port,
  names: Names,
  advice: (name: NonNullable<Names[keyof Names]>, method: string) => Advice<Port[Named<Names> & keyof Port]>,
): Port {
  const methods = Object.keys(names).map((key) => {
    const method = key as keyof Port;
    const call: Method = port[method].bind(port);
    const name = names[method];
    if (name === undefined) return [method, call];
    const advise = advice(name, key);
    return [method, (...args: never) => advise(() => call(...args) as Promise<never>, args)];
  });
  return Object.fromEntries(methods) as Port;
}
