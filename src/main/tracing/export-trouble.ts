import type { DiagLogger } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';

/** How long exports must succeed before trouble counts as over: a receiver that comes and goes must not flood the log. */
const QUIET_MS = 60_000;

/** Ignores the messages of the SDK. */
export const SILENT: DiagLogger = { error() {}, warn() {}, info() {}, debug() {}, verbose() {} };

type Log = Pick<Logger, 'info' | 'warn'>;

/** Reports lost spans to the operator: a warning when spans begin to be lost, and a line when exports work again. */
export class ExportTrouble {
  readonly #log: Log;
  readonly #nowMs: () => number;
  #lostSpans = 0;
  /** When spans were last lost, on the clock of `nowMs`. `undefined`: there is no trouble. */
  #lastMs: number | undefined;

  /** @param nowMs a clock in milliseconds, `performance.now()` by default */
  constructor(log: Log, nowMs = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  lost(spans: number, reason: string): void {
    if (this.#lastMs === undefined) this.#log.warn({ reason }, 'traces are not exported: spans are lost');
    this.#lastMs = this.#nowMs();
    this.#lostSpans += spans;
  }

  exported(): void {
    if (this.#lastMs === undefined || this.#nowMs() - this.#lastMs < QUIET_MS) return;
    this.#log.info({ lostSpans: this.#lostSpans }, 'traces are exported again');
    this.#lastMs = undefined;
    this.#lostSpans = 0;
  }

  /** The exporter, whose every outcome is reported here. */
  watch(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans: ReadableSpan[], done: (result: ExportResult) => void) =>
        exporter.export(spans, (result) => {
          if (result.code === ExportResultCode.SUCCESS) this.exported();
          else this.lost(spans.length, reasonOf(result.error));
          done(result);
        }),
      forceFlush: async () => exporter.forceFlush?.(),
      shutdown: () => exporter.shutdown(),
    };
  }

  /** Takes the messages of the SDK. It warns when its queue was full; {@link watch} knows the rest. */
  get sdkLog(): DiagLogger {
    const warn = (message: string) => {
      const [, dropped] = /^Dropped (\d+) spans/.exec(message) ?? [];
      if (dropped !== undefined) this.lost(Number(dropped), 'more spans wait than OTEL_BSP_MAX_QUEUE_SIZE');
    };
    return { ...SILENT, warn };
  }
}

/** Without the other properties of the error: one of them is what the receiver answered. */
function reasonOf(error: (Error & { readonly code?: unknown }) | undefined): string {
  // An error for several addresses has no message of its own.
  return [error?.message, error?.code].filter(Boolean).join(', ') || 'unknown';
}
