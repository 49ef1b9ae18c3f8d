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

/** The spans of an ExportTraceServiceRequest: https://github.com/open-telemetry/opentelemetry-proto */
export function decodeSpans(contentType: string | undefined, body: Buffer): ReceivedSpan[] {
  const request =
    contentType === 'application/x-protobuf'
      ? decode(body, EXPORT_TRACE_SERVICE_REQUEST)
      : JSON.parse(body.toString());
  return request.resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) => spans.map((span: any) => toSpan(span, resource))),
  );
}

function toSpan(span: any, resource: any): ReceivedSpan {
  const { name, kind, traceId, spanId, parentSpanId, traceState, attributes, status } = span;
  return {
    name,
    kind,
    traceId,
    spanId,
    parentSpanId: parentSpanId || undefined,
    traceState: traceState || undefined,
    attributes: toRecord(attributes),
    status: { code: status?.code ?? 0, message: status?.message || undefined },
    resource: toRecord(resource.attributes),
  };
}

function toRecord(attributes: { key: string; value: unknown }[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

function toValue({ stringValue, intValue, boolValue, doubleValue, arrayValue }: any): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(toValue);
  return intValue === undefined ? (stringValue ?? boolValue ?? doubleValue) : Number(intValue);
}

/** The fields of a protobuf message by number. What a test does not look at is left out. */
type Message = Readonly<Record<number, readonly [name: string, type: 'text' | 'hex' | 'number' | Message, 'list'?]>>;

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
function decode(bytes: Buffer, message: Message): any {
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
