import * as v from 'valibot';
import { integer } from './variables.ts';

type Given = Readonly<Record<string, string>>;

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** How spans are made and sent. */
export type TracingConfig = {
  /** Whether a request continues the trace that its `traceparent` names. */
  readonly readsTraceparent: boolean;
  readonly sampler: (typeof SAMPLERS)[number];
  /** The share of traces that the samplers `traceidratio` and `parentbased_traceidratio` take: 0 to 1. */
  readonly samplerRatio: number;
  /** Longer values of attributes are cut off. */
  readonly maxAttributeChars: number;
  /** The bounds of what waits for the receiver. */
  readonly batch: {
    /** How many spans may wait. Further ones are dropped. */
    readonly maxQueueSize: number;
    /** How many spans are sent at once. */
    readonly maxExportBatchSize: number;
    /** The longest wait of a span, in milliseconds. */
    readonly scheduledDelayMillis: number;
    /** When an export is given up, in milliseconds. */
    readonly exportTimeoutMillis: number;
  };
  /** The name of the storage in the semantic conventions. */
  readonly databaseSystem: string;
  /** The variables `OTEL_…`. The SDK reads those of its exporter and its resource itself. */
  readonly variables: Given;
};

const ENDPOINT = 'must be an http or https URL, such as http://localhost:4318';
const PROPAGATORS = 'must be tracecontext, baggage or both, comma-separated, or none';
const RATIO = 'must be a number from 0 to 1';

const Endpoint = v.pipe(
  v.string(),
  v.check((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), ENDPOINT),
);
const Protocol = v.optional(v.literal('http/protobuf', 'must be http/protobuf'));

const Propagators = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((name) => name.trim())),
  v.array(v.picklist(['tracecontext', 'baggage', 'none'], PROPAGATORS)),
);

const Ratio = v.pipe(v.string(), v.regex(/^\d*\.?\d+$/, RATIO), v.transform(Number), v.maxValue(1, RATIO));

function count(min: number, initial: number) {
  return v.optional(integer(min, 1_000_000_000), String(initial));
}

/** The defaults are those of https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. */
const Variables = v.object({
  OTEL_TRACES_EXPORTER: v.optional(v.literal('otlp', 'must be otlp or none')),
  OTEL_EXPORTER_OTLP_ENDPOINT: v.optional(Endpoint),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: v.optional(Endpoint),
  OTEL_EXPORTER_OTLP_PROTOCOL: Protocol,
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: Protocol,
  OTEL_PROPAGATORS: v.optional(Propagators, 'tracecontext,baggage'),
  OTEL_TRACES_SAMPLER: v.optional(
    v.picklist(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`),
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

/**
 * Reads the variables of OpenTelemetry. Traces are on if `OTEL_TRACES_EXPORTER` is `otlp`, or if it is absent and there
 * is an endpoint to send them to. `OTEL_SDK_DISABLED=true` turns them off.
 *
 * @param given the environment without empty variables
 * @returns the configuration, or `undefined` when traces are off, and a line for each invalid variable
 */
export function readTracing(given: Given): {
  readonly tracing: Omit<TracingConfig, 'databaseSystem'> | undefined;
  readonly problems: readonly string[];
} {
  if (!isAsked(given)) return { tracing: undefined, problems: [] };
  const { success, output, issues } = v.safeParse(Variables, decisive(given));
  if (!success) {
    const problems = issues.map(({ path, message }) => `${String(path?.[0].key)} ${message}`);
    return { tracing: undefined, problems };
  }
  const tracing = {
    readsTraceparent: output.OTEL_PROPAGATORS.includes('tracecontext'),
    sampler: output.OTEL_TRACES_SAMPLER,
    samplerRatio: output.OTEL_TRACES_SAMPLER_ARG,
    maxAttributeChars: output.OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT,
    batch: {
      maxQueueSize: output.OTEL_BSP_MAX_QUEUE_SIZE,
      maxExportBatchSize: output.OTEL_BSP_MAX_EXPORT_BATCH_SIZE,
      scheduledDelayMillis: output.OTEL_BSP_SCHEDULE_DELAY,
      exportTimeoutMillis: output.OTEL_BSP_EXPORT_TIMEOUT,
    },
    variables: Object.fromEntries(Object.entries(given).filter(([name]) => name.startsWith('OTEL_'))),
  };
  return { tracing, problems: [] };
}

function isAsked(given: Given): boolean {
  if (given['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return false;
  const exporter = given['OTEL_TRACES_EXPORTER'];
  if (exporter !== undefined) return exporter !== 'none';
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT } = given;
  return (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_EXPORTER_OTLP_ENDPOINT) !== undefined;
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
