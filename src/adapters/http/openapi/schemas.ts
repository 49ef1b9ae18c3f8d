import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ErrorBody, NewPet, Pet, Pets, PetStatus } from '../wire/schemas.ts';

export type JsonObject = { readonly [name: string]: unknown };

/** The schemas that have a name in the specification. */
const NAMED = { PetStatus, NewPet, Pet, Pets, Error: ErrorBody };

const CONFIG = {
  target: 'openapi-3.0',
  // What the parsed value is: the digits of a path or query parameter are an integer to its readers.
  typeMode: 'output',
  // JSON Schema knows nothing of them; what they check stands in the metadata.
  ignoreActions: ['check'],
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    switch (valibotSchema.type) {
      case 'bigint':
        // Without bounds: JSON tools whose numbers are doubles would round, and so corrupt, them.
        return { type: 'integer', format: 'int64' };
      case 'optional': {
        const initial = v.parse(valibotSchema, undefined);
        // OpenAPI 3.0 ignores whatever stands beside a `$ref`.
        const { $ref, default: _, ...rest } = jsonSchema;
        return {
          ...($ref === undefined ? rest : { allOf: [{ $ref }] }),
          ...(initial === undefined ? {} : { default: initial }),
        } as typeof jsonSchema;
      }
      default:
        return undefined;
    }
  },
} satisfies ConversionConfig;

/** `components.schemas`. */
export function componentSchemas(): JsonObject {
  return toJsonSchemaDefs(NAMED, CONFIG);
}

export function schemaRef(name: keyof typeof NAMED): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** A parameter object of an operation, from the schema that parses its text. */
export function parameter(place: 'path' | 'query', name: string, schema: v.GenericSchema): JsonObject {
  const { description, example, ...inline } = toJsonSchema(schema, CONFIG) as JsonObject;
  const named = Object.keys(NAMED).find((key) => uses(schema, NAMED[key as keyof typeof NAMED]));
  return {
    name,
    in: place,
    description,
    required: place === 'path',
    ...(example === undefined ? {} : { example }),
    schema: named === undefined ? inline : schemaRef(named as keyof typeof NAMED),
  };
}

/** Whether a parameter ends up as the value of a named schema, which is then referred to. */
function uses(schema: v.GenericSchema, named: v.GenericSchema): boolean {
  const inner = 'wrapped' in schema ? (schema.wrapped as v.GenericSchema) : schema;
  return 'pipe' in inner && (inner.pipe as readonly unknown[]).includes(named);
}
