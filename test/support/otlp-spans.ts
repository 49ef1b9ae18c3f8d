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
  return new Message(body).messages(1).flatMap((resourceSpans) => {
    const resource = attributesOf(resourceSpans.messages(1)[0], 1);
    const spans = resourceSpans.messages(2).flatMap((scopeSpans) => scopeSpans.messages(2));
    return spans.map((span) => {
      const [status] = span.messages(15);
      return {
        traceId: span.text(1, 'hex') ?? '',
        spanId: span.text(2, 'hex') ?? '',
        traceState: span.text(3),
        parentSpanId: span.text(4, 'hex'),
        name: span.text(5) ?? '',
        kind: span.number(6) ?? 0,
        attributes: attributesOf(span, 9),
        status: { code: status?.number(3) ?? 0, message: status?.text(2) },
        resource,
      };
    });
  });
}

function attributesOf(message: Message | undefined, field: number): Record<string, unknown> {
  const attributes = message?.messages(field) ?? [];
  return Object.fromEntries(attributes.map((one) => [one.text(1), valueOf(one.messages(2)[0])]));
}

/** A text, a number or a list. The service has no other attributes. */
function valueOf(value: Message | undefined): unknown {
  const [list] = value?.messages(5) ?? [];
  return value?.text(1) ?? value?.number(3) ?? list?.messages(1).map(valueOf);
}

/** A message by the numbers of its fields: https://protobuf.dev/programming-guides/encoding/ */
class Message {
  readonly #bytes: Buffer;
  readonly #fields = new Map<number, (number | Buffer)[]>();
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    while (this.#at < bytes.length) {
      const tag = this.#varint();
      const values = this.#fields.getOrInsert(tag >>> 3, []);
      const lengthOf = { 1: () => 8, 2: () => this.#varint(), 5: () => 4 }[tag & 7];
      if (lengthOf === undefined) values.push(this.#varint());
      else {
        const length = lengthOf();
        values.push(bytes.subarray(this.#at, (this.#at += length)));
      }
    }
  }

  messages(field: number): readonly Message[] {
    const contents = this.#fields.get(field) ?? [];
    return contents.filter((content) => typeof content === 'object').map((bytes) => new Message(bytes));
  }

  text(field: number, encoding: BufferEncoding = 'utf8'): string | undefined {
    const [content] = this.#fields.get(field) ?? [];
    return typeof content === 'object' ? content.toString(encoding) : undefined;
  }

  number(field: number): number | undefined {
    const [content] = this.#fields.get(field) ?? [];
    return typeof content === 'number' ? content : undefined;
  }

  #varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes.readUInt8(this.#at++);
      value += (byte % 128) * factor;
      if (byte < 128) return value;
    }
  }
}
