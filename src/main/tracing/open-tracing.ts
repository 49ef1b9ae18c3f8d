import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, diag, DiagLogLevel } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import * as resources from '@opentelemetry/resources';
import * as sdk from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import packageJson from '../../../package.json' with { type: 'json' };
import { requestSpans } from '../../adapters/tracing/request-spans.ts';
import { baseUrl } from '../../adapters/http/middleware/request-target.ts';
import { traceStorage, useCaseTracer } from '../../adapters/tracing/trace-calls.ts';
import type { ServicePorts } from '../../application/ports/storage-kind.ts';
import type { Config } from '../config/config.ts';
import type { TracingConfig } from '../config/tracing.ts';
import { watchExports } from './export-failures.ts';
import { tracedRequestLog } from './traced-request-log.ts';

/** The default of `OTEL_SERVICE_NAME`. */
const NAME = 'petstore';

/** Saves memory: OpenTelemetry has no limit, a URL may have 16 KiB, and many spans may wait. */
const MAX_ATTRIBUTE_CHARS = 1024;

const LAST_SPANS_MS = 1_000;

const SAMPLERS = {
  always_on: () => new sdk.AlwaysOnSampler(),
  always_off: () => new sdk.AlwaysOffSampler(),
  traceidratio: (ratio) => new sdk.TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
  parentbased_always_off: () => new sdk.ParentBasedSampler({ root: new sdk.AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) =>
    new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(ratio) }),
} satisfies Record<TracingConfig['sampler'], (ratio: number) => sdk.Sampler>;

export type Tracing = ReturnType<typeof openTracing>;

/** Sends spans until `stop`. A process has at most one SDK at a time. */
export function openTracing(
  config: TracingConfig,
  { publicUrl, trustProxy, storage: { kind } }: Pick<Config, 'publicUrl' | 'trustProxy' | 'storage'>,
  log: Logger,
) {
  // The SDK reads only the environment, not the file of --env.
  Object.assign(process.env, config.variables);
  handleSdkWarnings((message) => log.warn(message));
  const exportWatch = watchExports(new OTLPTraceExporter(), log);
  const resource = serviceResource();
  handleSdkWarnings(exportWatch.onSdkWarning);

  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const provider = new sdk.TracerProvider({
    resource,
    sampler: SAMPLERS[config.sampler](config.samplerRatio),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARS },
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter: exportWatch.watchedExporter })],
  });
  const tracer = provider.getTracer(NAME, packageJson.version);
  const requests = requestSpans(tracer);
  return {
    storage: (storage: ServicePorts) => traceStorage(storage, tracer, kind.system),
    useCase: useCaseTracer(tracer),
    app: (app: RequestListener) => requests.trace(app, baseUrl(publicUrl, trustProxy)),
    requestLog: (lines: Logger) => tracedRequestLog(lines, requests),
    /** Sends the last spans, for at most 1 s after the drain. */
    async stop() {
      const isSent = Promise.allSettled([provider.shutdown()]).then(() => true);
      const inTime = await Promise.race([isSent, sleep(LAST_SPANS_MS, false, { ref: false })]);
      if (!inTime) log.warn('the receiver of traces does not answer: the last spans are lost');
      context.disable();
      diag.disable();
    },
  };
}

/** Ignores errors of the SDK, because they are failed exports, which {@link watchExports} logs. */
function handleSdkWarnings(warn: (message: string) => void): void {
  const logger = { error() {}, warn, info() {}, debug() {}, verbose() {} };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** The environment can replace the default name and version. */
function serviceResource() {
  const { serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector } = resources;
  const detectors = [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector];
  const defaultAttributes = { 'service.name': NAME, 'service.version': packageJson.version };
  return resources
    .defaultResource()
    .merge(resources.resourceFromAttributes(defaultAttributes))
    .merge(resources.detectResources({ detectors }));
}
