/** A span as a receiver of OTLP, the protocol of OpenTelemetry, sees it. */
export type ReceivedSpan = {
  readonly name: string;
  /** 1 is internal, 2 is server, 3 is client. */
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  /** `undefined` for the root of a trace. */
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Code 2 is an error. */
  readonly status: { readonly code: number; readonly message: string | undefined };
  readonly resource: Readonly<Record<string, unknown>>;
};

/**
 * Decodes the spans of an ExportTraceServiceRequest, a message of Protocol Buffers. Its field numbers are defined in
 * https://github.com/open-telemetry/opentelemetry-proto
 */
export function decodeSpans(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0], 1);
    const spans = messages(resourceSpans, 2).flatMap((scopeSpans) => messages(scopeSpans, 2));
    return spans.map((span) => {
      const [status] = messages(span, 15);
      return {
        traceId: text(span, 1, 'hex') ?? '',
        spanId: text(span, 2, 'hex') ?? '',
        traceState: text(span, 3),
        parentSpanId: text(span, 4, 'hex'),
        name: text(span, 5) ?? '',
        kind: number(span, 6) ?? 0,
        attributes: attributesOf(span, 9),
        status: { code: number(status, 3) ?? 0, message: text(status, 2) },
        resource,
      };
    });
  });
}

function attributesOf(message: Fields | undefined, field: number): Record<string, unknown> {
  return Object.fromEntries(messages(message, field).map((pair) => [text(pair, 1), valueOf(pair)]));
}

/** The value of an attribute: a text, a number or a list of texts. The service sends no other values. */
function valueOf(attribute: Fields): unknown {
  const [value] = messages(attribute, 2);
  const [list] = messages(value, 5);
  return text(value, 1) ?? number(value, 3) ?? messages(list, 1).map((item) => text(item, 1));
}

/** The fields of a message by their numbers. A field of bytes contains a text or another message. */
type Fields = ReadonlyMap<number, readonly (number | Buffer)[]>;

/** Decodes a message: https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, (number | Buffer)[]>();
  let offset = 0;
  const take = (length: number) => bytes.subarray(offset, (offset += length));
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes.readUInt8(offset++);
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (offset < bytes.length) {
    const tag = varint();
    const read = { 1: () => take(8), 2: () => take(varint()), 5: () => take(4) }[tag & 7] ?? varint;
    fields.getOrInsert(tag >>> 3, []).push(read());
  }
  return fields;
}

function messages(fields: Fields | undefined, field: number): readonly Fields[] {
  return (fields?.get(field) ?? []).map((bytes) => fieldsOf(bytes as Buffer));
}

function text(fields: Fields | undefined, field: number, encoding?: BufferEncoding): string | undefined {
  const bytes = fields?.get(field)?.[0] as Buffer | undefined;
  return bytes?.toString(encoding);
}

function number(fields: Fields | undefined, field: number): number | undefined {
  return fields?.get(field)?.[0] as number | undefined;
}
