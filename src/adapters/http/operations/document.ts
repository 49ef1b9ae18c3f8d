import { allowHeader } from '../middleware/routes.ts';
import { failure, sharedFailures } from '../openapi/answers.ts';
import { announcement, exactly, HEADERS, LIMITED, required } from '../openapi/headers.ts';
import { componentSchemas, type JsonObject, parameter } from '../openapi/schemas.ts';
import { sunsetDay } from '../contract/deprecation.ts';
import { MAX_BODY_BYTES } from '../contract/limits.ts';
import {
  insufficientScope,
  methodNotAllowed,
  scopeChallenge,
  UNSUPPORTED_MEDIA_TYPE,
} from '../contract/refusals.ts';
import { V1 } from '../contract/versions.ts';
import type { Operation } from './operation.ts';
import { OPERATIONS } from './operations.ts';

const DOCUMENT_VERSION = '1.0.0';

const introduction = (base: string) =>
  'A catalogue of animals: list them, add one, get one. Every request carries an API key, as ' +
  '`Authorization: Bearer <API_KEY>`. Every error is exactly `{code, message, status}`.\n\n' +
  `The rules of every operation are at [${base}/docs](${base}/docs#rules): authentication, requests, limits, rate ` +
  'limits, browsers, answers, errors and compatibility.';

const API_KEY_SCHEME: JsonObject = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key: `Authorization: Bearer <API_KEY>`. The scheme name is case-insensitive. A key that the ' +
    'service generated begins with `pets_`: its public id of 16 hex digits follows, an underscore, and 49 ' +
    'letters and digits. The operator may configure other keys.',
};

const BODY_RULES =
  'A JSON object in UTF-8. Any other JSON value is refused. `Content-Type` is `application/json`, with no ' +
  `charset except utf-8. \`Content-Encoding\` is identity or absent. At most ${MAX_BODY_BYTES} bytes.`;

/** Cached, because it does not depend on the base URL. */
let operationsPart: JsonObject | undefined;

/**
 * Describes the API by the schemas and limits that the service enforces.
 *
 * @param base without a trailing slash, such as `https://petstore.example`
 */
export function openApiDocument(base: string): JsonObject {
  operationsPart ??= describeOperations(OPERATIONS.filter(({ version }) => version === V1));
  return {
    openapi: '3.0.3',
    info: {
      title: 'Petstore',
      version: DOCUMENT_VERSION,
      description: introduction(base),
      contact: { name: 'The Petstore maintainers' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: base + V1, description: 'Version 1 of the API.' }],
    externalDocs: {
      url: `${base}/docs`,
      description: 'The rules of the API, and a form for each operation.',
    },
    ...operationsPart,
  };
}

/** @param operations all operations of one version */
export function describeOperations(operations: readonly Operation[]): JsonObject {
  const announcements = operations.map((each) => announcement(each).components);
  return {
    security: [{ apiKey: [] }],
    tags: [{ name: 'animals', description: 'The catalogue of animals.' }],
    paths: paths(operations),
    components: {
      schemas: componentSchemas(),
      headers: Object.assign({}, HEADERS, ...announcements) as JsonObject,
      responses: sharedFailures(),
      securitySchemes: { apiKey: API_KEY_SCHEME },
    },
  };
}

function paths(all: readonly Operation[]): JsonObject {
  const byPath = Map.groupBy(all, ({ path }) => path);
  return Object.fromEntries(
    Array.from(byPath, ([path, operations]) => {
      const allow = allowHeader(operations.flatMap(({ methods }) => methods));
      return [path, Object.fromEntries(operations.map((each) => [each.method, describe(each, allow)]))];
    }),
  );
}

function describe(operation: Operation, allow: string): JsonObject {
  const { name, scope, deprecation, query, body, summary, description, documentation } = operation;
  const { headers: announcementHeaders } = announcement(operation);
  const headers = { ...LIMITED, ...announcementHeaders };
  const { parameters = [], requestBody, responses } = documentation(headers);
  const queryParameters = Object.entries(query?.entries ?? {}).map((entry) => parameter('query', ...entry));
  const errors = sharedFailures(announcementHeaders);
  const sharedError = (key: keyof typeof errors) => ({ $ref: `#/components/responses/${key}` });
  const ownError = (key: keyof typeof errors) => (deprecation === undefined ? sharedError(key) : errors[key]);
  const scopeHeader = exactly('The scope that the API key lacks (RFC 6750).', scopeChallenge(scope));
  const allowed = required('The methods that the path supports.', { pattern: '^[A-Z]+(, [A-Z]+)*$' }, allow);
  return {
    operationId: name,
    tags: ['animals'],
    summary,
    description: [
      `Needs an API key with the scope \`${scope}\`.`,
      description,
      query === undefined
        ? 'This operation has no query parameters. Any is refused.'
        : 'Each parameter may occur once. Any other parameter is refused.',
    ].join('\n\n'),
    ...(deprecation && { deprecated: true, 'x-sunset': sunsetDay(deprecation) }),
    parameters: [...queryParameters, ...parameters],
    ...(requestBody && {
      requestBody: { description: BODY_RULES, required: true, content: { 'application/json': requestBody } },
    }),
    responses: {
      401: ownError('Unauthorized'),
      403: failure([insufficientScope(scope)], { 'WWW-Authenticate': scopeHeader, ...headers }),
      405: failure([methodNotAllowed(allow)], { Allow: allowed, ...headers }),
      // 408, 413, 414 and 431 can occur before the operation is known.
      408: sharedError('RequestTimeout'),
      413: sharedError(body === undefined ? 'ChunkExtensionsTooLarge' : 'PayloadTooLarge'),
      414: sharedError('UriTooLong'),
      ...(body && { 415: failure([UNSUPPORTED_MEDIA_TYPE], LIMITED) }),
      429: ownError('RateLimited'),
      431: sharedError('HeadersTooLarge'),
      500: ownError('Internal'),
      503: ownError('Unavailable'),
      ...responses,
    },
  };
}
