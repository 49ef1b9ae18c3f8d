type Method = (...args: never) => Promise<unknown>;

/** A function around each call of a method. */
type Advice<M extends Method> = <Result extends Awaited<ReturnType<M>>>(
  call: () => Promise<Result>,
  args: Parameters<M>,
) => Promise<Result>;

type Named<Names> = { [M in keyof Names]: Names[M] extends undefined ? never : M }[keyof Names];

/**
 * Makes a port that wraps each call of another port.
 *
 * @param names a name for each wrapped method, and `undefined` for the other methods. A missing method does not compile
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
