import { context, trace } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { RequestLog } from '../../adapters/http/contract/request-log.ts';
import type { RequestSpans } from '../../adapters/tracing/request-spans.ts';
import { requestLog } from '../log/request-log.ts';

/**
 * Adds ids of traces to log lines, as in https://opentelemetry.io/docs/specs/otel/compatibility/logging_trace_context/.
 * `answered` ends the span of its request.
 */
export function tracedRequestLog(log: Logger, spans: RequestSpans): RequestLog {
  const lines = requestLog(log.child({}, { formatters: { log: withTraceIds } }));
  return {
    ...lines,
    answered: (record, request) => {
      spans.end(request, record);
      context.with(spans.contextOf(request), () => lines.answered(record));
    },
  };
}

/** A line without a request id gets no trace ids, even while a request is active. */
function withTraceIds(fields: { readonly requestId?: unknown }): object {
  const span = fields.requestId === undefined ? undefined : trace.getSpanContext(context.active());
  if (span === undefined) return fields;
  const { traceId, spanId, traceFlags } = span;
  const flags = traceFlags.toString(16).padStart(2, '0');
  return { ...fields, trace_id: traceId, span_id: spanId, trace_flags: flags };
}
