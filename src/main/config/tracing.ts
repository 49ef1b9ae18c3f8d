import * as v from 'valibot';
import { CommaSeparated, integer, problemLines } from './variables.ts';

type Given = Readonly<Record<string, string>>;

const ROOT_SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;
const SAMPLERS = [...ROOT_SAMPLERS, ...ROOT_SAMPLERS.map((root) => `parentbased_${root}` as const)];

const ENDPOINT = 'must be an http or https URL, such as http://localhost:4318';
const PROPAGATORS = 'must be tracecontext, baggage or both, comma-separated, or none';
const RATIO = 'must be a number from 0 to 1';

const Endpoint = v.pipe(
  v.string(),
  v.check((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), ENDPOINT),
);

/** A value that the service cannot send to: an export to another place would fail for as long as it runs. */
const Endpoints = v.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(Endpoint),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(Endpoint),
});

/** Case does not matter: https://opentelemetry.io/docs/specs/otel/configuration/common/#enum */
function oneOf<const Value extends string>(values: readonly Value[], rule: string) {
  return v.pipe(v.string(), v.toLowerCase(), v.picklist(values, rule));
}

const Protocol = v.optional(oneOf(['http/protobuf'], 'must be http/protobuf, usually at port 4318'));

const Propagators = v.pipe(
  v.string(),
  v.toLowerCase(),
  CommaSeparated,
  v.everyItem((name) => /^(tracecontext|baggage|none)$/.test(name), PROPAGATORS),
);

const Ratio = v.pipe(v.string(), v.regex(/^\d*\.?\d+$/, RATIO), v.transform(Number), v.maxValue(1, RATIO));

function count(min: number, initial: number) {
  return v.optional(integer(min, 1_000_000_000), String(initial));
}

/** The defaults are those of https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. */
const Variables = v.object({
  OTEL_SDK_DISABLED: v.optional(oneOf(['true', 'false'], 'must be true or false')),
  OTEL_TRACES_EXPORTER: v.optional(oneOf(['otlp', 'none'], 'must be otlp or none')),
  OTEL_EXPORTER_OTLP_PROTOCOL: Protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: Protocol,
  OTEL_PROPAGATORS: v.optional(Propagators, 'tracecontext,baggage'),
  OTEL_TRACES_SAMPLER: v.optional(
    oneOf(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`),
    'parentbased_always_on',
  ),
  OTEL_TRACES_SAMPLER_ARG: v.optional(Ratio, '1'),
  // The specification has no limit here. A URL may have 16 KiB, and many spans may wait.
  OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: count(0, 1024),
  OTEL_BSP_MAX_QUEUE_SIZE: count(1, 2048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: count(1, 512),
  OTEL_BSP_SCHEDULE_DELAY: count(0, 5_000),
  OTEL_BSP_EXPORT_TIMEOUT: count(1, 30_000),
});

/** How spans are made and sent. */
export type TracingConfig = ReturnType<typeof tracingOf>;

/**
 * Reads the variables of OpenTelemetry. Traces are on if `OTEL_TRACES_EXPORTER` is `otlp`, or if it is absent and there
 * is an endpoint to send them to. `OTEL_SDK_DISABLED=true` turns them off.
 *
 * @param given the environment without empty variables
 * @returns the configuration, or `undefined` when traces are off; a line for each variable that is invalid; and one for
 *   each that is ignored for its value, as https://opentelemetry.io/docs/specs/otel/configuration/common/ wants it
 */
export function readTracing(given: Given) {
  const read = decisive(given);
  if (!isAsked(read)) return { tracing: undefined, problems: [], warnings: [] };
  const problems = problemLines(v.safeParse(Endpoints, read).issues);
  const { issues = [] } = v.safeParse(Variables, read);
  const wrong = new Set(issues.map(({ path }) => path?.[0].key));
  const valid = Object.fromEntries(Object.entries(read).filter(([name]) => !wrong.has(name)));
  // Another receiver may listen there, so the value is used.
  const grpc = Object.keys(Endpoints.entries)
    .filter((name) => URL.parse(read[name] ?? '')?.port === '4317')
    .map((name) => `${name} has the port 4317, where collectors accept gRPC; use 4318 for http/protobuf`);
  const isOn = problems.length === 0 && isAsked(valid);
  return {
    tracing: isOn ? tracingOf(v.parse(Variables, valid), given) : undefined,
    problems,
    warnings: [...problemLines(issues).map((line) => `${line}; its value is ignored`), ...grpc],
  };
}

function tracingOf(output: v.InferOutput<typeof Variables>, given: Given) {
  return {
    /** Whether a request continues the trace that its `traceparent` names. */
    readsTraceparent: output.OTEL_PROPAGATORS.includes('tracecontext'),
    sampler: output.OTEL_TRACES_SAMPLER,
    /** The share of traces that the samplers `traceidratio` and `parentbased_traceidratio` take: 0 to 1. */
    samplerRatio: output.OTEL_TRACES_SAMPLER_ARG,
    /** Longer values of attributes are cut off. */
    maxAttributeChars: output.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    /** The bounds of what waits for the receiver. */
    batch: {
      /** How many spans may wait. Further ones are dropped. */
      maxQueueSize: output.OTEL_BSP_MAX_QUEUE_SIZE,
      /** How many spans are sent at once. */
      maxExportBatchSize: output.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
      /** The longest wait of a span, in milliseconds. */
      scheduledDelayMillis: output.OTEL_BSP_SCHEDULE_DELAY,
      /** When an export is given up, in milliseconds. */
      exportTimeoutMillis: output.OTEL_BSP_EXPORT_TIMEOUT,
    },
    /** The variables `OTEL_…`. The SDK reads those of its exporter and its resource itself. */
    variables: Object.fromEntries(Object.entries(given).filter(([name]) => name.startsWith('OTEL_'))),
  };
}

function isAsked(given: Given): boolean {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT } = given;
  const endpoint = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_EXPORTER_OTLP_ENDPOINT;
  const exporter = given['OTEL_TRACES_EXPORTER']?.toLowerCase() ?? endpoint ?? 'none';
  return given['OTEL_SDK_DISABLED']?.toLowerCase() !== 'true' && exporter !== 'none';
}

/** Without the variables for all signals that traces have one of their own for. */
function decisive(given: Given): Given {
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => {
      const own = name.replace('OTEL_EXPORTER_OTLP_', 'OTEL_EXPORTER_OTLP_TRACES_');
      return own === name || name.startsWith('OTEL_EXPORTER_OTLP_TRACES_') || !(own in given);
    }),
  );
}
