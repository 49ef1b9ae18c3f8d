/** A span as a receiver of OTLP sees it. */
export type ReceivedSpan = {
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
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
 * The spans of an ExportTraceServiceRequest. The numbers of the fields are those of
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
  return Object.fromEntries(messages(message, field).map((one) => [text(one, 1), valueOf(one)]));
}

/** A text, a number or a list. The service has no other attributes. */
function valueOf(attribute: Fields): unknown {
  const [value] = messages(attribute, 2);
  const [list] = messages(value, 5);
  return text(value, 1) ?? number(value, 3) ?? messages(list, 1).map((each) => text(each, 1));
}

/** What a message holds, by the numbers of its fields. Bytes are a text or another message. */
type Fields = ReadonlyMap<number, readonly (number | Buffer)[]>;

/** https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, (number | Buffer)[]>();
  let at = 0;
  const take = (length: number) => bytes.subarray(at, (at += length));
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes.readUInt8(at++);
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
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
