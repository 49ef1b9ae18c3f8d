import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

/**
 * An outage ends at a success at least 60 s after the last failure, because a receiver that often fails must not flood
 * the log.
 */
const QUIET_MS = 60_000;

/**
 * Logs when spans begin to be lost, and when exports work again.
 *
 * @returns the exporter to use, and a listener for warnings of the SDK, such as about a full queue
 */
export function watchExports(exporter: SpanExporter, log: Pick<Logger, 'info' | 'warn'>) {
  /** `undefined`: exports work. */
  let lastLossMs: number | undefined;
  const onLoss = (reason: string) => {
    if (lastLossMs === undefined) log.warn({ reason }, 'traces are not exported, and spans are lost');
    lastLossMs = performance.now();
  };
  const onExport = () => {
    if (lastLossMs === undefined || performance.now() - lastLossMs < QUIET_MS) return;
    lastLossMs = undefined;
    log.info('traces are exported again');
  };
  const watchedExporter: SpanExporter = {
    export: (spans: ReadableSpan[], done: (result: ExportResult) => void) =>
      exporter.export(spans, (result) => {
        if (result.code === ExportResultCode.SUCCESS) onExport();
        else onLoss(reasonOf(result.error));
        done(result);
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
  const onSdkWarning = (message: string) => {
    if (/^Dropped \d+ spans/.test(message)) onLoss('the queue of spans is full');
  };
  return { watchedExporter, onSdkWarning };
}

/** Omits other properties of the error, because one of them is the answer of the receiver. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  // An error about several addresses has no message.
  return [error?.message, error?.code].filter(Boolean).join(', ') || 'unknown';
}
