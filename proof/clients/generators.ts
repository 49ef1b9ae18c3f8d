import type { Tool } from './tools.ts';

/** A client generator. A folder of `examples/clients` has its configuration and a program that uses its client. */
export type Generator = {
  readonly needs: readonly Tool[];
  /** The output of the program. The default is {@link TRANSCRIPT}. */
  readonly output?: string;
} & (
  | Commands
  | {
      /** The heading of a block in `examples/clients/README.md` that does it all. */ readonly heading: string;
    }
);

export type Commands = {
  /** A command line that generates the client from `openapi.json`. The command runs in the folder of the generator. */
  readonly generate?: string;
  readonly compile: string;
  readonly run: string;
};

const PETS = [
  '1 Rex 9223372036854775807 available',
  '2 Mia 2 sold',
  '3 Tom 3 available',
  '4 Ada 4 available',
  '5 Kit 5 available',
];
const REUSED = 'the idempotency key has been used for something else; use a new one';

/** The output of every program: the animals that it adds, the animals that it lists, and a refused addition. */
export const TRANSCRIPT = [
  ...PETS.map((pet) => `created ${pet}`),
  ...PETS.map((pet) => `listed ${pet}`),
  `refused 422 IDEMPOTENCY_KEY_REUSED ${REUSED}`,
]
  .map((line) => `${line}\n`)
  .join('');

const BODIES = [
  '{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":"available"}',
  '{"id":2,"name":"Mia","categoryId":2,"status":"sold"}',
  '{"id":3,"name":"Tom","categoryId":3,"status":"available"}',
  '{"id":4,"name":"Ada","categoryId":4,"status":"available"}',
  '{"id":5,"name":"Kit","categoryId":5,"status":"available"}',
];

/** The output of curl: the unchanged bodies of the answers. */
const CURL_OUTPUT = [
  ...BODIES,
  `[${BODIES.slice(0, 2).join(',')}]`,
  `[${BODIES.slice(2, 4).join(',')}]`,
  `[${BODIES.slice(4).join(',')}]`,
  JSON.stringify({ code: 'IDEMPOTENCY_KEY_REUSED', message: REUSED, status: 422 }),
]
  .map((line) => `${line}\n`)
  .join('');

const TYPESCRIPT = {
  compile:
    'tsc --noEmit --strict --target esnext --module esnext --moduleResolution bundler --types node ' +
    '--allowImportingTsExtensions main.ts && esbuild main.ts --bundle --platform=node --format=esm --outfile=main.mjs',
  run: 'node main.mjs',
} as const;

const PYTHON = { compile: 'mypy --strict-equality main.py', run: 'python main.py' } as const;
const GO = { compile: 'go vet . && go build -o main .', run: './main' } as const;

export const GENERATORS: Readonly<Record<string, Generator>> = {
  // progenitor is first, because its compiler takes longest.
  progenitor: {
    needs: ['cargo'],
    compile: 'cargo build --quiet --locked',
    run: '"$CARGO_TARGET_DIR/debug/petstore-example"',
  },
  curl: { needs: ['curl'], heading: 'curl', output: CURL_OUTPUT },
  'openapi-fetch': { needs: ['npm'], heading: 'TypeScript' },
  'openapi-python-client': { needs: ['python'], heading: 'Python' },
  'oapi-codegen': { needs: ['go'], heading: 'Go' },
  'openapi-generator-java': { needs: ['java', 'mvn'], heading: 'Java' },
  'hey-api': { needs: ['npm'], generate: 'openapi-ts', ...TYPESCRIPT },
  orval: { needs: ['npm'], generate: 'orval', ...TYPESCRIPT },
  'typescript-fetch': {
    needs: ['npm', 'python', 'java'],
    generate:
      'openapi-generator-cli generate -g typescript-fetch -i openapi.json -o client ' +
      '--type-mappings=long=bigint --language-specific-primitives=bigint',
    ...TYPESCRIPT,
  },
  'openapi-generator-python': {
    needs: ['python', 'java'],
    generate:
      'openapi-generator-cli generate -g python -i openapi.json -o . --package-name petstore_client ' +
      '--global-property=apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false',
    ...PYTHON,
  },
  'openapi-generator-go': {
    needs: ['python', 'java', 'go'],
    generate:
      'openapi-generator-cli generate -g go -i openapi.json -o petstore --model-name-mappings=NewPet=PetToAdd ' +
      '--additional-properties=packageName=petstore,withGoMod=false ' +
      '--global-property=apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false',
    ...GO,
  },
};
