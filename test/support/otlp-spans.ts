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

type Value = {
  readonly stringValue?: string;
  readonly boolValue?: number;
  readonly intValue?: number;
  readonly arrayValue?: { readonly values: readonly Value[] };
};

type Attributes = readonly { readonly key: string; readonly value: Value }[];

type Resource = { readonly attributes?: Attributes };

type Span = Omit<ReceivedSpan, 'attributes' | 'status' | 'resource'> & {
  readonly attributes?: Attributes;
  readonly status?: { readonly code?: number; readonly message?: string };
};

type ResourceSpans = {
  readonly resource: Resource;
  readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
};

/** The spans of an ExportTraceServiceRequest: https://github.com/open-telemetry/opentelemetry-proto */
export function decodeSpans(body: Buffer): ReceivedSpan[] {
  // The decoder follows the table of fields below.
  const { resourceSpans } = decode(body, EXPORT_TRACE_SERVICE_REQUEST) as unknown as {
    readonly resourceSpans: readonly ResourceSpans[];
  };
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => toReceived(span, resource))),
  );
}

function toReceived(span: Span, { attributes }: Resource): ReceivedSpan {
  const { name, kind, traceId, spanId, parentSpanId, traceState, status } = span;
  return {
    name,
    kind,
    traceId,
    spanId,
    parentSpanId,
    traceState,
    attributes: toRecord(span.attributes),
    status: { code: status?.code ?? 0, message: status?.message },
    resource: toRecord(attributes),
  };
}

function toRecord(attributes: Attributes = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

function toValue({ stringValue, intValue, boolValue, arrayValue }: Value): unknown {
  return (
    stringValue ?? intValue ?? (boolValue === undefined ? arrayValue?.values.map(toValue) : boolValue === 1)
  );
}

/** The fields of a protobuf message by number. What a test does not look at is left out. */
type Message = Readonly<
  Record<number, readonly [name: string, type: 'text' | 'hex' | 'number' | Message, 'list'?]>
>;

const ANY_VALUE = {
  1: ['stringValue', 'text'],
  2: ['boolValue', 'number'],
  3: ['intValue', 'number'],
  5: ['arrayValue', { 1: ['values', { 1: ['stringValue', 'text'] }, 'list'] }],
} as const satisfies Message;

const KEY_VALUE = { 1: ['key', 'text'], 2: ['value', ANY_VALUE] } as const satisfies Message;

const SPAN = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  3: ['traceState', 'text'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'number'],
  9: ['attributes', KEY_VALUE, 'list'],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'number'] }],
} as const satisfies Message;

const EXPORT_TRACE_SERVICE_REQUEST: Message = {
  1: [
    'resourceSpans',
    {
      1: ['resource', { 1: ['attributes', KEY_VALUE, 'list'] }],
      2: ['scopeSpans', { 2: ['spans', SPAN, 'list'] }, 'list'],
    },
    'list',
  ],
};

/** https://protobuf.dev/programming-guides/encoding/ */
function decode(bytes: Buffer, message: Message): Record<string, unknown> {
  const decoded: Record<string, unknown> = {};
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = BigInt(bytes.readUInt8(at++));
      value |= (byte & 0x7fn) << shift;
      if (byte < 0x80n) return Number(value);
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wireType = tag & 7;
    const length = wireType === 2 ? varint() : ({ 1: 8, 5: 4 }[wireType] ?? 0);
    const number = wireType === 0 ? varint() : undefined;
    const content = bytes.subarray(at, (at += length));
    const [name, type, list] = message[tag >>> 3] ?? [];
    if (name === undefined || type === undefined) continue;
    const value = number ?? (typeof type === 'object' ? decode(content, type) : textOf(content, type));
    if (list === undefined) decoded[name] = value;
    else ((decoded[name] ??= []) as unknown[]).push(value);
  }
  return decoded;
}

function textOf(bytes: Buffer, type: 'text' | 'hex' | 'number'): string {
  return bytes.toString(type === 'hex' ? 'hex' : 'utf8');
}
