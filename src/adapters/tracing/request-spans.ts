import type { IncomingMessage, RequestListener } from 'node:http';
import * as api from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';

/** What is known about a request when it has been answered. */
export type RequestOutcome = {
  readonly requestId: string;
  /** The pattern of the route. `undefined` when no route matched. */
  readonly route?: string | undefined;
  /** `undefined` when there was no answer. */
  readonly status: number | undefined;
  /** The public id of the API key. `undefined` when no key was verified. */
  readonly keyId?: string | undefined;
};

/** RFC 9110, section 9, RFC 5789 and QUERY. The conventions call every other method `_OTHER`. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH', 'QUERY'];

/** Begins and ends the spans of requests. */
export type RequestSpans = ReturnType<typeof requestSpans>;

/**
 * The spans of requests: https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-server-span
 *
 * They contain no query, no header of the client, and no address of a client. A request continues the trace that its
 * `traceparent` names.
 */
export function requestSpans(tracer: api.Tracer) {
  const propagator = new W3CTraceContextPropagator();
  const contexts = new WeakMap<object, api.Context>();
  /** The context of a request, or the root if the request has none. */
  const contextOf = (request: object | undefined) => (request && contexts.get(request)) ?? api.ROOT_CONTEXT;
  return {
    /**
     * Begins a span for each request, and handles the request in it.
     *
     * @param baseUrl the base of the absolute URLs in an answer
     */
    trace(handle: RequestListener, baseUrl: (request: IncomingMessage) => string): RequestListener {
      return (request, response) => {
        // Not the active context: on a connection that pipelines, it is that of the request before.
        const parent = propagator.extract(api.ROOT_CONTEXT, request.headers, api.defaultTextMapGetter);
        const attributes = { ...baseAttributes(baseUrl(request)), ...requestAttributes(request) };
        const span = tracer.startSpan(nameOf(request), { kind: api.SpanKind.SERVER, attributes }, parent);
        const own = api.trace.setSpan(parent, span);
        contexts.set(request, own);
        api.context.with(own, () => handle(request, response));
      };
    },
    contextOf,
    /** Ends the span of a request, if it has one. */
    end(request: IncomingMessage | undefined, { requestId, route, status, keyId }: RequestOutcome): void {
      const span = api.trace.getSpan(contextOf(request));
      if (request === undefined || span === undefined) return;
      const isError = status !== undefined && status >= 500;
      if (route !== undefined) span.updateName(`${nameOf(request)} ${route}`);
      if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.setAttributes({
        'http.route': route,
        // Every answer has this header. It leads to the log lines of the request.
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
    // Without the query. The absolute form of a target has a host: RFC 9112, section 3.2.2.
    'url.path': url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*/s, ''),
    'network.protocol.version': httpVersion,
  };
}

/** The base may come from a request that has not been checked. */
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
