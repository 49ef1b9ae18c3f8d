import { expect, it } from 'vitest';
import { StartError, readConfig } from '../../../src/main/config/config.ts';
import { STORAGES } from '../../../src/main/config/storages.ts';
import { readTracing } from '../../../src/main/config/tracing.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4318' };

const PROTOCOL_RULE = 'must be http/protobuf, usually at port 4318';

const DEFAULTS = { sampler: 'parentbased_always_on', samplerRatio: 1 };

it.each<[string, Record<string, string>]>([
  ['an endpoint', ENDPOINT],
  ['an endpoint for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.example/v1/traces' }],
  ['the exporter otlp', { OTEL_TRACES_EXPORTER: 'otlp' }],
  ['the exporter OTLP in capitals', { OTEL_TRACES_EXPORTER: 'OTLP' }],
  ['an SDK that is not disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'False' }],
])('tracing is on with %s', (_, given) => {
  const tracing = { ...DEFAULTS, variables: given };
  expect(readTracing(given)).toStrictEqual({ tracing, problems: [], warnings: [] });
});

it.each<[string, Record<string, string>]>([
  ['no variable', {}],
  ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
  ['no endpoint', { OTEL_SERVICE_NAME: 'shop', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  ['the exporter none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'None', OTEL_TRACES_SAMPLER: 'wrong' }],
  ['a disabled SDK', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'True' }],
])('tracing is off with %s', (_, given) => {
  expect(readConfig(given)).toMatchObject({ tracing: undefined, warnings: [] });
});

it.each<[Record<string, string>, object]>([
  [{ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, {}],
  [
    { OTEL_TRACES_SAMPLER: 'TraceIdRatio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    { sampler: 'traceidratio', samplerRatio: 0.25 },
  ],
])('the tracing configuration accepts %j', (given, expected) => {
  const variables = { ...ENDPOINT, ...given };
  const tracing = { ...DEFAULTS, ...expected, variables };
  expect(readTracing(variables)).toStrictEqual({ tracing, problems: [], warnings: [] });
});

it('each storage has the name that OpenTelemetry gives to its database system', () => {
  expect(STORAGES.map(({ system }) => system)).toStrictEqual(['sqlite', 'mongodb', 'memory']);
});

// The valid values are in https://opentelemetry.io/docs/specs/otel/configuration/common/ and, for the argument of the
// sampler, in https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
it.each<[name: string, value: string, rule: string]>([
  ['OTEL_SDK_DISABLED', 'yes', 'must be true or false'],
  ['OTEL_TRACES_EXPORTER', 'console', 'must be otlp or none'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'gRPC', PROTOCOL_RULE],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/json', PROTOCOL_RULE],
  [
    'OTEL_TRACES_SAMPLER',
    'sometimes',
    'must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, ' +
      'parentbased_traceidratio',
  ],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5', 'must be a number from 0 to 1'],
])('an invalid value is ignored with a warning: %s=%s', (name, value, rule) => {
  const variables = { ...ENDPOINT, [name]: value };
  const warnings = [`${name} ${rule}; its value is ignored`];
  expect(readTracing(variables)).toStrictEqual({
    tracing: { ...DEFAULTS, variables },
    problems: [],
    warnings,
  });
});

it('tracing is off when the exporter is unknown and no endpoint is set', () => {
  const warnings = ['OTEL_TRACES_EXPORTER must be otlp or none; its value is ignored'];
  expect(readTracing({ OTEL_TRACES_EXPORTER: 'console' })).toStrictEqual({
    tracing: undefined,
    problems: [],
    warnings,
  });
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://collector.example'],
])('an endpoint that is no http URL is refused together with other invalid variables: %s', (name, value) => {
  expect(() => readConfig({ [name]: value, PORT: 'x' })).toThrow(
    new StartError([
      'PORT must be an integer from 0 to 65535',
      `${name} must be an http or https URL, such as http://localhost:4318`,
    ]),
  );
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://collector:4317'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'https://collector.example:4317/v1/traces'],
])('an endpoint with the gRPC port is used, and a warning names the port for HTTP: %s', (name, value) => {
  const given = { [name]: value };
  const warning = `${name} has the port 4317, where collectors accept gRPC; use 4318 for http/protobuf`;
  const tracing = { ...DEFAULTS, variables: given };
  expect(readTracing(given)).toStrictEqual({ tracing, problems: [], warnings: [warning] });
  const withoutExporter = readTracing({ ...given, OTEL_TRACES_EXPORTER: 'none' });
  expect(withoutExporter).toStrictEqual({ tracing: undefined, problems: [], warnings: [] });
});
