declare global {
  // In Node 22 and in browsers, but not yet in TypeScript's library.
  interface JSON {
    rawJSON(text: string): object;
    parse(
      text: string,
      revive: (key: string, value: unknown, context: { source: string }) => unknown,
    ): unknown;
  }
  interface BigInt {
    toJSON(): object;
  }
}

// The generated functions call JSON.stringify, which refuses a bigint.
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON(this.toString());
};

/** Sends the requests of the generated functions. */
export async function exactFetch<T>(path: string, options: RequestInit): Promise<T> {
  const headers = new Headers(options.headers);
  headers.set('Authorization', `Bearer ${process.env['PETSTORE_KEY']}`);
  const base = process.env['PETSTORE_URL'] ?? 'http://127.0.0.1:3000/v1';
  const response = await fetch(`${base}${path}`, { ...options, headers });
  const data = JSON.parse(await response.text(), (key, value, { source }) =>
    key === 'id' || key === 'categoryId' ? BigInt(source) : value,
  );
  return { data, status: response.status, headers: response.headers } as T;
}
