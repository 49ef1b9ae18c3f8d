import type { Tracer } from '@opentelemetry/api';
import { inSpan } from './in-span.ts';

export type UseCase<Input extends readonly unknown[], Output> = {
  execute(...input: Input): Promise<Output>;
};

/** The use case with a span for each call in a sampled request. Rejects as the use case does. */
export function traceUseCase<Input extends readonly unknown[], Output>(
  tracer: Tracer,
  name: string,
  useCase: UseCase<Input, Output>,
): UseCase<Input, Output> {
  return { execute: (...input) => inSpan(tracer, name, {}, () => useCase.execute(...input)) };
}
