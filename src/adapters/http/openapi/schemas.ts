import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ErrorBody, NewPet, Pet, Pets, PetStatus } from '../contract/schemas.ts';

export type JsonObject = { readonly [name: string]: unknown };

const NAMED_SCHEMAS = { PetStatus, NewPet, Pet, Pets, Error: ErrorBody };

const CONVERSION_CONFIG = {
  target: 'openapi-3.0',
  // After parsing, a parameter made of digits is an integer.
  typeMode: 'output',
  // JSON Schema cannot express a check. The metadata describes it.
  ignoreActions: ['check'],
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    // No bounds, because tools that read numbers as doubles would round the bounds.
    if (valibotSchema.type === 'bigint') return { type: 'integer', format: 'int64' };
    if (valibotSchema.type !== 'optional') return undefined;
    const { $ref, default: _, ...rest } = jsonSchema;
    // OpenAPI 3.0 ignores siblings of `$ref`. A default would also make generated types require the field.
    if ($ref !== undefined) return { $ref };
    const initial = v.parse(valibotSchema, undefined);
    return (initial === undefined ? rest : { ...rest, default: initial }) as typeof jsonSchema;
  },
} satisfies ConversionConfig;

export function componentSchemas(): JsonObject {
  return toJsonSchemaDefs(NAMED_SCHEMAS, CONVERSION_CONFIG);
}

export function schemaRef(name: keyof typeof NAMED_SCHEMAS): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

type Piped = { readonly pipe?: readonly unknown[] };

export function parameter(location: 'path' | 'query', name: string, schema: v.GenericSchema): JsonObject {
  const { description, example, ...inline } = toJsonSchema(schema, CONVERSION_CONFIG) as JsonObject;
  // The parsed value may have a named schema.
  const { pipe = [] } = ('wrapped' in schema ? schema.wrapped : schema) as Piped;
  const [schemaName] = Object.entries(NAMED_SCHEMAS).find(([, each]) => pipe.includes(each)) ?? [];
  return {
    name,
    in: location,
    description,
    required: location === 'path',
    example,
    schema: schemaName === undefined ? inline : schemaRef(schemaName as keyof typeof NAMED_SCHEMAS),
  };
}
