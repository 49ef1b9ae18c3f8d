import * as api from '@opentelemetry/api';
import { faultOf } from '../../domain/fault.ts';
import { around } from '../../application/ports/around.ts';
import { STORAGE_OPERATIONS } from '../../application/ports/storage-operations.ts';
import type { ServicePorts } from '../../application/ports/storage-kind.ts';

type UseCase<Input extends readonly unknown[], Output> = { execute(...input: Input): Promise<Output> };

/**
 * Makes a span per call, even if the storage answers several calls with one operation.
 *
 * @param system `db.system.name`: https://opentelemetry.io/docs/specs/semconv/db/database-spans/
 */
export function traceStorage(storage: ServicePorts, tracer: api.Tracer, system: string): ServicePorts {
  const callsOn = (collection?: string) => (_: unknown, operation: string) => {
    const name = collection === undefined ? operation : `${operation} ${collection}`;
    const attributes = {
      'db.system.name': system,
      'db.operation.name': operation,
      'db.collection.name': collection,
    };
    return inSpan(tracer, name, { kind: api.SpanKind.CLIENT, attributes });
  };
  const { pets, keys, probe, limiter } = storage;
  return {
    pets: around(pets, STORAGE_OPERATIONS.pets, callsOn('pets')),
    keys: around(keys, STORAGE_OPERATIONS.keys, callsOn('api_keys')),
    probe: around(probe, STORAGE_OPERATIONS.probe, callsOn()),
    ...(limiter !== undefined && {
      limiter: around(limiter, STORAGE_OPERATIONS.limiter, callsOn('rate_limits')),
    }),
  };
}

export type TraceUseCase = <Input extends readonly unknown[], Output>(
  name: string,
  useCase: UseCase<Input, Output>,
) => UseCase<Input, Output>;

export function useCaseTracer(tracer: api.Tracer): TraceUseCase {
  return (name, useCase) => around(useCase, { execute: name }, () => inSpan(tracer, name, {}));
}

/**
 * Rejects with the error of `work`. Makes no span outside a sampled request, because such a span would cost CPU time
 * and never be sent.
 */
function inSpan(tracer: api.Tracer, name: string, options: api.SpanOptions) {
  return <T>(work: () => Promise<T>): Promise<T> => {
    if (api.trace.getActiveSpan()?.isRecording() !== true) return work();
    return tracer.startActiveSpan(name, options, async (span) => {
      try {
        return await work();
      } catch (error) {
        recordFailure(span, error);
        throw error;
      } finally {
        span.end();
      }
    });
  };
}

/** Leaves out the stack, because the log has it with the same trace id. */
function recordFailure(span: api.Span, error: unknown): void {
  if (faultOf(error) === 'client') return;
  const { name, message } = error instanceof Error ? error : { name: '_OTHER', message: String(error) };
  const kind = error instanceof Error && 'kind' in error ? String(error.kind) : undefined;
  span.setAttribute('error.type', kind ?? name);
  span.setStatus({ code: api.SpanStatusCode.ERROR, message });
}
