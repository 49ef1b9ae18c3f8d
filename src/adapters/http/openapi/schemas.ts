import { type ConversionConfig, toJsonSchema, toJsonSchemaDefs } from '@valibot/to-json-schema';
import * as v from 'valibot';
import { ErrorBody, NewPet, Pet, Pets, PetStatus } from '../contract/schemas.ts';

export type JsonObject = { readonly [name: string]: unknown };

/** The schemas that the specification names. */
const NAMED = { PetStatus, NewPet, Pet, Pets, Error: ErrorBody };

const CONFIG = {
  target: 'openapi-3.0',
  // Describes values after parsing: a path or query parameter made of digits is an integer.
  typeMode: 'output',
  // JSON Schema cannot express them. The metadata says what they check.
  ignoreActions: ['check'],
  overrideRef: ({ referenceId }) => `#/components/schemas/${referenceId}`,
  overrideSchema: ({ valibotSchema, jsonSchema }) => {
    // Without bounds: tools that read numbers as doubles would round them.
    if (valibotSchema.type === 'bigint') return { type: 'integer', format: 'int64' };
    if (valibotSchema.type !== 'optional') return undefined;
    const { $ref, default: _, ...rest } = jsonSchema;
    // OpenAPI 3.0 ignores everything beside a `$ref`. A default would also make generated types require the field.
    if ($ref !== undefined) return { $ref };
    const initial = v.parse(valibotSchema, undefined);
    return (initial === undefined ? rest : { ...rest, default: initial }) as typeof jsonSchema;
  },
} satisfies ConversionConfig;

/** `components.schemas`. */
export function componentSchemas(): JsonObject {
  return toJsonSchemaDefs(NAMED, CONFIG);
}

export function schemaRef(name: keyof typeof NAMED): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

type Piped = { readonly pipe?: readonly unknown[] };

/** A parameter object, from the schema that parses the parameter. */
export function parameter(place: 'path' | 'query', name: string, schema: v.GenericSchema): JsonObject {
  const { description, example, ...inline } = toJsonSchema(schema, CONFIG) as JsonObject;
  // A parameter may be parsed to the value of a named schema.
  const { pipe = [] } = ('wrapped' in schema ? schema.wrapped : schema) as Piped;
  const [named] = Object.entries(NAMED).find(([, each]) => pipe.includes(each)) ?? [];
  return {
    name,
    in: place,
    description,
    required: place === 'path',
    example,
    schema: named === undefined ? inline : schemaRef(named as keyof typeof NAMED),
  };
}
