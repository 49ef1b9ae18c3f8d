import { type Span, type SpanOptions, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import type { PetError } from '../../application/pets/errors.ts';

/** Whether a use case that rejects with this kind of error has failed. Otherwise, the client made a mistake. */
const IS_FAILURE: ReadonlyMap<unknown, boolean> = new Map(
  Object.entries({
    'damaged-pet': true,
    'idempotency-key-reused': false,
    'invalid-page-size': false,
    'invalid-pet': false,
    'pet-ids-exhausted': true,
    'pet-not-found': false,
  } satisfies Record<PetError['kind'], boolean>),
);

/**
 * Does the work in a span, which is the parent of every span in it. Rejects with the error of the work. Outside of a
 * request, and in a request that is not sampled, there is no span: it would cost CPU time and not be sent.
 */
export function inSpan<T>(
  tracer: Tracer,
  name: string,
  options: SpanOptions,
  work: () => Promise<T>,
): Promise<T> {
  if (trace.getActiveSpan()?.isRecording() !== true) return work();
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
}

/** The log has the stack, under the trace id. */
function recordFailure(span: Span, error: unknown): void {
  const kind = error instanceof Error && 'kind' in error ? String(error.kind) : undefined;
  if (IS_FAILURE.get(kind) === false) return;
  const { name, message } = error instanceof Error ? error : { name: '_OTHER', message: String(error) };
  span.setAttribute('error.type', kind ?? name);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
