import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { ERRORS } from '../../src/adapters/http/contract/errors.ts';
import { openApiDocument } from '../../src/adapters/http/operations/document.ts';

/** The response to check, with the method and the path of its request. The header names are in lower case. */
export type CheckedResponse = {
  readonly method: string;
  /** The request target: a path with or without a query, or an absolute URL. */
  readonly path: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

type Schema = { readonly type?: string };
type Ref = { readonly $ref: string };
type Header = { readonly required?: boolean; readonly schema: Schema };
type Media = { readonly schema: Schema; readonly examples: Readonly<Record<string, unknown>> };
type DocumentedResponse = {
  readonly headers: Readonly<Record<string, Header | Ref>>;
  readonly content: Readonly<Record<string, Media>>;
};
type Operation = {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, DocumentedResponse | Ref>>;
};
type PathItem = Readonly<Record<string, unknown>>;
type Document = {
  readonly servers: readonly [{ readonly url: string }];
  readonly paths: Readonly<Record<string, PathItem>>;
};

const DOCUMENT_ID = 'openapi.json';

const document = openApiDocument('') as Document;

// This check of an int64 is not exact, because a JavaScript number is a double. `parseExactly` checks every digit.
const int64 = { type: 'number', validate: (value: number) => Math.abs(value) <= 2 ** 63 } as const;
const ajv = new Ajv({ strict: false, allErrors: true, formats: { int64, 'uri-reference': true } });
ajv.addSchema(document, DOCUMENT_ID);

const routes = Object.entries(document.paths).map(([template, item]) => {
  const path = `${document.servers[0].url}${template}`;
  return { item, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) };
});

const JSON_TYPE = /^application\/json; charset=utf-8$/;
const textTypePattern = (type: string) => new RegExp(`^text/${type}; charset=utf-8$`);

/**
 * The paths of the service that are not in the OpenAPI document, each with a pattern for the media type of an answer
 * 200. Other tests check the bodies of these answers.
 */
const SYSTEM_PATHS: Readonly<Record<string, RegExp>> = {
  '/': JSON_TYPE,
  '/docs': textTypePattern('html'),
  '/docs/swagger-ui.css': textTypePattern('css'),
  '/docs/swagger-ui-bundle.js': textTypePattern('javascript'),
  '/docs/docs.css': textTypePattern('css'),
  '/docs/docs.js': textTypePattern('javascript'),
  '/livez': JSON_TYPE,
  '/readyz': JSON_TYPE,
  '/openapi.json': JSON_TYPE,
};

/** A pattern of the media type that an answer must have. */
function mediaTypeOf({ path, status }: Pick<CheckedResponse, 'path' | 'status'>): RegExp {
  return (status === 200 ? SYSTEM_PATHS[pathOf(path)] : undefined) ?? JSON_TYPE;
}

/**
 * Checks a response against the OpenAPI document and against the rules for every response.
 *
 * @throws {Error} that names every problem
 */
export function expectConforms(response: CheckedResponse): void {
  const problems = problemsOf(response);
  if (problems.length === 0) return;
  const { method, path, status } = response;
  throw new Error(`${method} ${path} ${status} breaks the contract:\n- ${problems.join('\n- ')}`);
}

/** The problems of a response, one line each. */
function problemsOf(response: CheckedResponse): string[] {
  const { status, headers, body } = response;
  const problems = commonProblems(response);
  const json = body === '' || mediaTypeOf(response) !== JSON_TYPE ? undefined : parseExactly(body, problems);
  const operation = operationOf(response);
  const documented = operation === undefined ? undefined : resolve(operation.responses[status]);
  if (operation === undefined) problems.push(...problemsOutsideDocument(response));
  else if (documented === undefined || status === 405) {
    problems.push(`${operation.operationId} must not answer ${status}`);
  }
  for (const [name, reference] of Object.entries(documented?.headers ?? {})) {
    const header = resolve(reference)!;
    const value = textOf(headers[name.toLowerCase()]);
    if (value !== undefined) problems.push(...headerProblems(name, value, header.schema));
    else if (header.required === true) problems.push(`${name} is missing`);
  }
  if (json === undefined) return problems;
  const media = documented?.content['application/json'];
  if (media !== undefined) problems.push(...schemaProblems('the body', media.schema, json));
  if (status >= 400) problems.push(...errorProblems(json, status, media));
  return problems;
}

/** The violations of the rules for every response, even for a response that the document does not describe. */
function commonProblems({ method, path, status, headers, body }: CheckedResponse): string[] {
  const problems: string[] = [];
  const check = (name: string, allowed: RegExp) => {
    const value = textOf(headers[name]);
    if (value === undefined) problems.push(`${name} is missing`);
    else if (!allowed.test(value)) problems.push(`${name} is "${value}"`);
  };
  check('x-request-id', /^[\w.-]{1,64}$/);
  check('x-content-type-options', /^nosniff$/);
  const type = mediaTypeOf({ path, status });
  // A file of `/docs` can have its version as the query. Only the answer to the current version may be cached.
  const isCacheable = type !== JSON_TYPE && pathOf(path) !== '/docs' && path.includes('?');
  check('cache-control', isCacheable ? /^(no-store|public, max-age=31536000, immutable)$/ : /^no-store$/);
  if (headers['transfer-encoding'] !== undefined) problems.push('transfer-encoding is present');
  if (status === 204) {
    for (const name of ['content-type', 'content-length']) {
      if (headers[name] !== undefined) problems.push(`${name} is present`);
    }
  } else {
    check('content-type', type);
    check('content-length', method === 'HEAD' ? /^\d+$/ : new RegExp(`^${Buffer.byteLength(body)}$`));
  }
  const hasNoBody = status === 204 || method === 'HEAD';
  if (hasNoBody !== (body === '')) problems.push(`the body is ${hasNoBody ? 'present' : 'missing'}`);
  return problems;
}

/**
 * The problems of a response to a request for which the document has no operation. The path of the request is outside
 * `/v1`, or is unknown, or does not support the method.
 */
function problemsOutsideDocument(response: CheckedResponse): string[] {
  const { method, path, status, headers } = response;
  const isSystem = ['GET', 'HEAD'].includes(method) && Object.hasOwn(SYSTEM_PATHS, pathOf(path));
  const isDocumented =
    (method === 'OPTIONS' && status === 204) ||
    (isSystem && (status === 200 || (status === 302 && pathOf(path) === '/')));
  const problems: string[] = [];
  if (status < 400 && !isDocumented) problems.push(`${status} is not documented`);
  if (status === 503 && headers['retry-after'] === undefined) problems.push('Retry-After is missing');
  const isPreflight = headers['access-control-allow-methods'] !== undefined;
  if (((status === 204 && !isPreflight) || status === 405) && headers['allow'] === undefined)
    problems.push('Allow is missing');
  if (status === 401 && headers['www-authenticate'] === undefined) {
    problems.push('WWW-Authenticate is missing');
  }
  return problems;
}

/**
 * The problems of the body of an error. This check allows no additional fields. The schema of the document allows
 * additional fields, because a later version of the service may add fields.
 */
function errorProblems(body: unknown, status: number, media: Media | undefined): string[] {
  if (typeof body !== 'object' || body === null) return ['the body is not an Error'];
  const problems: string[] = [];
  const fields = Object.keys(body).toSorted().join(', ');
  if (fields !== 'code, message, status') problems.push(`the fields of the error are ${fields}`);
  const { code, status: bodyStatus } = body as { readonly code?: string; readonly status?: unknown };
  if (bodyStatus !== status) problems.push(`the status in the body is ${String(bodyStatus)}`);
  const expected = (ERRORS as Readonly<Record<string, readonly [number, string]>>)[String(code)]?.[0];
  if (expected === undefined) problems.push(`the code ${String(code)} is unknown`);
  else if (expected !== status) problems.push(`the code ${String(code)} goes with ${expected}`);
  else if (media !== undefined && !Object.hasOwn(media.examples, String(code))) {
    problems.push(`the code ${String(code)} is not documented for this answer`);
  }
  return problems;
}

function operationOf({ method, path }: CheckedResponse): Operation | undefined {
  const pathname = pathOf(path);
  const route = routes.find(({ pattern }) => pattern.test(pathname));
  return route?.item[method === 'HEAD' ? 'get' : method.toLowerCase()] as Operation | undefined;
}

/** The path of a request target. */
function pathOf(target: string): string {
  return target.replace(/^https?:\/\/[^/?]*/i, '').split('?')[0] || '/';
}

/** Returns the part of the document to which a `$ref` points. Returns a node without `$ref` unchanged. */
function resolve<T extends object>(node: T | Ref | undefined): T | undefined {
  if (node === undefined || !('$ref' in node)) return node;
  const keys = node.$ref.slice('#/'.length).split('/');
  return keys.reduce<unknown>((parent, key) => (parent as Record<string, unknown>)[key], document) as T;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function headerProblems(name: string, value: string, schema: Schema): string[] {
  if (schema.type !== 'integer') return schemaProblems(name, schema, value);
  return /^\d+$/.test(value)
    ? schemaProblems(name, schema, Number(value))
    : [`${name} is not an integer: ${value}`];
}

const validators = new Map<object, ValidateFunction>();

/** The errors of a value according to a schema of the document. The list is empty if the value is valid. */
export function violations(schema: object, value: unknown): readonly ErrorObject[] {
  let validate = validators.get(schema);
  if (validate === undefined) {
    const absolute: unknown = JSON.parse(JSON.stringify(schema).replaceAll('"#/', `"${DOCUMENT_ID}#/`));
    validate = ajv.compile(absolute as Schema);
    validators.set(schema, validate);
  }
  return validate(value) ? [] : (validate.errors ?? []);
}

/** The {@link violations} as texts, one line each. `subject` names the value in them. */
function schemaProblems(subject: string, schema: object, value: unknown): string[] {
  return violations(schema, value).map(({ instancePath, message }) => `${subject}${instancePath} ${message}`);
}

/** Parses JSON. Adds a problem for each number that is not an int64, because the service writes only int64 numbers. */
function parseExactly(text: string, problems: string[]): unknown {
  try {
    return JSON.parse(text, (_key, value: unknown, { source = '' }) => {
      if (typeof value === 'number' && !isInt64(source))
        problems.push(`the number ${source} is not an int64`);
      return value;
    });
  } catch (error) {
    problems.push(`the body is not JSON: ${String(error)}`);
    return undefined;
  }
}

function isInt64(source: string): boolean {
  return /^(?:0|-?[1-9]\d*)$/.test(source) && BigInt.asIntN(64, BigInt(source)) === BigInt(source);
}
