export default {
  input: 'openapi.json',
  output: 'client',
  // The transformers make every int64 a bigint.
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/typescript',
    { name: '@hey-api/transformers', bigInt: true },
    { name: '@hey-api/sdk', transformer: true },
  ],
};
