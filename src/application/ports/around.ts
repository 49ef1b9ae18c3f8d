type Method = (...args: never) => Promise<unknown>;

/** A function that wraps each call of a method. */
type Wrapper<M extends Method> = <Result extends Awaited<ReturnType<M>>>(
  call: () => Promise<Result>,
  args: Parameters<M>,
) => Promise<Result>;

/** The named methods. */
type Named<Names> = { [M in keyof Names]: Names[M] extends undefined ? never : M }[keyof Names];

/**
 * Makes a port that wraps each call of another port.
 *
 * @param names a name for each wrapped method, and `undefined` for the other methods. A missing method does not compile
 * @param wrapperOf called once per named method
 */
export function around<
  Port extends { readonly [M in keyof Port]: Method },
  const Names extends { readonly [M in keyof Port]: string | undefined },
>(
  port: Port,
  names: Names,
  wrapperOf: (name: NonNullable<Names[keyof Names]>, key: string) => Wrapper<Port[Named<Names> & keyof Port]>,
): Port {
  const methods = Object.keys(names).map((key) => {
    const method = key as keyof Port;
    const call: Method = port[method].bind(port);
    const name = names[method];
    if (name === undefined) return [method, call];
    const wrapper = wrapperOf(name, key);
    return [method, (...args: never) => wrapper(() => call(...args) as Promise<never>, args)];
  });
  return Object.fromEntries(methods) as Port;
}
