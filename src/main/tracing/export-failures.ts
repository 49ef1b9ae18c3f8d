import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

/**
 * A failure ends when exports have succeeded for 60 s. A receiver that comes and goes then does not flood the log.
 */
const QUIET_MS = 60_000;

/**
 * Logs when spans begin to be lost, and when exports work again.
 *
 * @returns the exporter to use, and a listener for warnings of the SDK, such as that its queue was full
 */
export function watchExports(exporter: SpanExporter, log: Pick<Logger, 'info' | 'warn'>) {
  /** By `performance.now()`. `undefined`: exports work. */
  let lostMs: number | undefined;
  const lost = (reason: string) => {
    if (lostMs === undefined) log.warn({ reason }, 'traces are not exported: spans are lost');
    lostMs = performance.now();
  };
  const exported = () => {
    if (lostMs === undefined || performance.now() - lostMs < QUIET_MS) return;
    lostMs = undefined;
    log.info('traces are exported again');
  };
  const watched: SpanExporter = {
    export: (spans: ReadableSpan[], done: (result: ExportResult) => void) =>
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) exported();
        else lost(reasonOf(result.error));
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
  const onSdkWarning = (message: string) => {
    if (/^Dropped \d+ spans/.test(message)) lost('more spans wait than the queue can hold');
  };
  return { watched, onSdkWarning };
}

/** Omits the other properties, because one is the answer of the receiver. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  // An error for several addresses has no message of its own.
  return [error?.message, error?.code].filter(Boolean).join(', ') || 'unknown';
}
