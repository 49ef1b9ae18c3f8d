import type { IncomingMessage, RequestListener } from 'node:http';
import * as api from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

/** `RequestRecord` of src/adapters/http says when a field is `undefined`. */
export type RequestOutcome = {
  readonly requestId: string;
  readonly route?: string | undefined;
  readonly status: number | undefined;
  readonly keyId?: string | undefined;
};

/** The methods of RFC 9110, section 9, and of RFC 5789, and QUERY. The conventions call any other method `_OTHER`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'];

export type RequestSpans = ReturnType<typeof requestSpans>;

/**
 * Follows https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span. A span has no query, and no
 * header or address of the client. A request continues the trace of its `traceparent`.
 */
export function requestSpans(tracer: api.Tracer) {
  const propagator = new W3CTraceContextPropagator();
  const contexts = new WeakMap<object, api.Context>();
  const contextOf = (request: object | undefined) => (request && contexts.get(request)) ?? api.ROOT_CONTEXT;
  return {
    trace(handle: RequestListener, baseUrl: (request: IncomingMessage) => string): RequestListener {
      return (request, response) => {
        // The active context is not used, because it belongs to the previous request of the connection.
        const parent = propagator.extract(api.ROOT_CONTEXT, request.headers, api.defaultTextMapGetter);
        const attributes = { ...baseAttributes(baseUrl(request)), ...requestAttributes(request) };
        const span = tracer.startSpan(nameOf(request), { kind: api.SpanKind.SERVER, attributes }, parent);
        const context = api.trace.setSpan(parent, span);
        contexts.set(request, context);
        api.context.with(context, () => handle(request, response));
      };
    },
    contextOf,
    end(request: IncomingMessage | undefined, { requestId, route, status, keyId }: RequestOutcome): void {
      const span = api.trace.getSpan(contextOf(request));
      if (request === undefined || span === undefined) return;
      const isError = status !== undefined && status >= 500;
      if (route !== undefined) span.updateName(`${nameOf(request)} ${route}`);
      if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.setAttributes({
        'http.route': route,
        // The log lines of the request have this id.
        'http.response.header.x-request-id': [requestId],
        'petstore.key.id': keyId,
        'http.response.status_code': status,
        'error.type': isError ? String(status) : undefined,
      });
      span.end();
    },
  };
}

function nameOf({ method = '' }: IncomingMessage): string {
  return METHODS.includes(method) ? method : 'HTTP';
}

function requestAttributes(request: IncomingMessage): api.Attributes {
  const { method = '', url = '', httpVersion } = request;
  const isKnown = METHODS.includes(method);
  return {
    'http.request.method': isKnown ? method : '_OTHER',
    ...(!isKnown && { 'http.request.method_original': method }),
    // The absolute form of a target has a host: RFC 9112, section 3.2.2.
    'url.path': url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*/s, ''),
    'network.protocol.version': httpVersion,
  };
}

/** The URL may come from an unchecked request. */
function baseAttributes(url: string): api.Attributes {
  const base = URL.parse(url);
  if (base === null) return {};
  const { protocol, hostname, port } = base;
  return {
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname.replaceAll(/[[\]]/g, ''),
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
  };
}
