import { makeParser, oneOf } from './forms.ts';
import { optional, readRows, type SetVariables } from './rows.ts';

const SIMPLE_SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;
const SAMPLERS = [...SIMPLE_SAMPLERS, ...SIMPLE_SAMPLERS.map((name) => `parentbased_${name}` as const)];

/** Ignores case: https://opentelemetry.io/docs/specs/otel/configuration/common/#enum */
function anyCase<const V extends string>(values: readonly V[], rule?: string) {
  return (text: string) => oneOf(values, rule)(text.toLowerCase());
}

const endpoint = makeParser('must be an http or https URL, such as http://localhost:4318', (text) => {
  return /^https?:$/.test(URL.parse(text)?.protocol ?? '') ? text : undefined;
});

const protocol = anyCase(['http/protobuf'], 'must be http/protobuf, usually at port 4318');

const ratio = makeParser('must be a number from 0 to 1', (text) => {
  return /^\d*\.?\d+$/.test(text) && Number(text) <= 1 ? Number(text) : undefined;
});

export type TracingConfig = NonNullable<ReturnType<typeof readTracing>['tracing']>;

/**
 * Reads the variables of OpenTelemetry that docs/reference/variables.md lists.
 *
 * @returns a problem for an invalid endpoint, and a warning for every other invalid variable: docs/decisions.md, "A
 *   wrong value of OpenTelemetry's variables is a warning"
 */
export function readTracing(environment: SetVariables) {
  const endpointVariable = variableFor('ENDPOINT', environment);
  const { values, problems: minorProblems } = readRows(
    {
      disabled: optional('OTEL_SDK_DISABLED', anyCase(['true', 'false'], 'must be true or false')),
      exporter: optional('OTEL_TRACES_EXPORTER', anyCase(['otlp', 'none'], 'must be otlp or none')),
      protocol: optional(variableFor('PROTOCOL', environment), protocol),
      sampler: optional('OTEL_TRACES_SAMPLER', anyCase(SAMPLERS)),
      samplerRatio: optional('OTEL_TRACES_SAMPLER_ARG', ratio),
    },
    environment,
  );
  const { disabled, exporter, sampler = 'parentbased_always_on', samplerRatio = 1 } = values;
  const isRequested = 'OTEL_TRACES_EXPORTER' in environment || endpointVariable in environment;
  const isOff = !isRequested || disabled === 'true' || exporter === 'none';
  if (isOff) return { tracing: undefined, problems: [], warnings: [] };
  const { problems } = readRows({ endpoint: optional(endpointVariable, endpoint) }, environment);
  const warnings = minorProblems.map((line) => `${line}; its value is ignored`);
  if (URL.parse(environment[endpointVariable] ?? '')?.port === '4317') {
    warnings.push(
      `${endpointVariable} has the port 4317, where collectors accept gRPC; use 4318 for http/protobuf`,
    );
  }
  const canExport = problems.length === 0 && (exporter === 'otlp' || endpointVariable in environment);
  const tracing = {
    sampler,
    /** From 0 to 1: the share of traces that a sampler `…traceidratio` keeps. */
    samplerRatio,
    /** For the SDK, which itself reads the variables of its exporter and resource. */
    variables: Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('OTEL_'))),
  };
  return { tracing: canExport ? tracing : undefined, problems, warnings };
}

/** The variable for traces has priority over the general variable. */
function variableFor(setting: 'ENDPOINT' | 'PROTOCOL', environment: SetVariables): string {
  const tracesVariable = `OTEL_EXPORTER_OTLP_TRACES_${setting}`;
  return tracesVariable in environment ? tracesVariable : `OTEL_EXPORTER_OTLP_${setting}`;
}
