export default {
  petstore: {
    input: 'openapi.json',
    output: {
      target: 'client.ts',
      client: 'fetch',
      override: { useBigInt: true, mutator: { path: 'exact-fetch.ts', name: 'exactFetch' } },
    },
  },
};
