/** The fields of a `T` as something outside the domain holds them. Each may be missing or have any value. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };
