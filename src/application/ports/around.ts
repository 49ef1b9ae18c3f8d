type Method = (...args: never) => Promise<unknown>;

/** What happens around each call of a method. */
type Advice<M extends Method> = <Result extends Awaited<ReturnType<M>>>(
  call: () => Promise<Result>,
  args: Parameters<M>,
) => Promise<Result>;

/** The methods that have a name. */
type Named<Names> = { [M in keyof Names]: Names[M] extends undefined ? never : M }[keyof Names];

/**
 * Makes a port that calls the given one, with something around each call.
 *
 * @param names of all methods, for `advice`: a new method fails to compile until it is listed. Nothing goes around a
 *   method whose name is `undefined`
 * @param advice called once for each method, with its name and the method's own, not at each call
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
