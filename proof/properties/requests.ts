import fc from 'fast-check';
import { PET_STATUSES } from '../../src/domain/pet.ts';
import { aNewPet, int64, petStatus, text } from './arbitraries.ts';
import { numberText, type JsonSample, spell, spelledKey, spelledValue } from './json-arbitraries.ts';

/** A request to one of the operations. It is valid, or differs only a little from a valid request. */
export type TestRequest = {
  readonly method: 'GET' | 'POST';
  /** The path and the query of the request. Each character is sent as one byte (Latin-1). */
  readonly target: string;
  readonly idempotencyKey?: string | undefined;
  readonly body?: string;
};

/** Percent-encodes the characters that need it. The `bits` decide which of the other characters are encoded. */
const encode = (value: string, bits: number) =>
  Array.from(Buffer.from(value, 'utf8'), (byte, at) => {
    const character = String.fromCharCode(byte);
    const mustEncode = byte <= 0x20 || byte >= 0x7f || '%&=+#\\/?'.includes(character);
    const isEncoded = mustEncode || ((bits >> (at % 31)) & 1) === 1;
    return isEncoded ? `%${byte.toString(16).padStart(2, '0')}` : character;
  }).join('');

const oddStatus = fc
  .tuple(petStatus, fc.constantFrom(' ', '\0', '', 's'), fc.boolean())
  .map(([status, mark, isUpper]) => (isUpper ? status.toUpperCase() : status + mark));

const cursor = fc
  .oneof(fc.bigInt({ min: -2n, max: 12n }), int64)
  .map((id) => `v1.${BigInt.asUintN(64, id).toString(16).padStart(16, '0')}`);

const PARAMETERS = ['limit', 'status', 'cursor', 'Limit', 'page', '?limit', '__proto__', 'cursor[0]', ''];

const LIMIT_VALUES = ['1', '2', '3', '99', '100', '0', '101', '-1', '05', '+5', '1e1', '1.5', '5 ', ''];

const parameter = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constant('limit'), fc.constantFrom(...LIMIT_VALUES)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('status'), fc.oneof(petStatus, petStatus, oddStatus)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('cursor'), cursor) },
      fc.tuple(fc.constantFrom(...PARAMETERS), fc.oneof(fc.constantFrom('', '5', 'sold\0'), text)),
    ),
    fc.nat(),
  )
  .map(([[name, value], bits]) => `${encode(name, bits)}=${encode(value, bits >> 3)}`);

/** Any byte, without CR, LF and the space, which end the target of a request. */
const byte = fc
  .integer({ min: 0, max: 255 })
  .map((code) => String.fromCharCode(code))
  .filter((character) => !'\r\n '.includes(character));

const ODD_QUERY_PARTS = ['', '&', 'limit', 'limit=5&', '#', '#x', '\\', 'limit=%3', '%', '+', '?', '='];

const joinWithAmpersand = (part: fc.Arbitrary<string>) =>
  fc.array(part, { maxLength: 3 }).map((parts) => parts.join('&'));

const queryText = fc.oneof(
  { weight: 4, arbitrary: joinWithAmpersand(parameter) },
  joinWithAmpersand(fc.oneof(parameter, fc.constantFrom(...ODD_QUERY_PARTS))),
  fc.tuple(parameter, fc.nat(40), byte).map(([part, at, mark]) => part.slice(0, at) + mark + part.slice(at)),
  fc.string({ unit: byte, maxLength: 12 }),
);

const list = queryText.map((part): TestRequest => ({ method: 'GET', target: `/v1/pets?${part}` }));

const ODD_IDS = [
  '1.5',
  '42.0',
  '042',
  '-0',
  '+1',
  '0x1',
  'NaN',
  '1 ',
  '1,2',
  '\u0661',
  '9223372036854775808',
];
const petId = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt({ min: -1n, max: 12n }).map(String) },
  int64.map(String),
  fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map(String),
  fc.constantFrom(...ODD_IDS),
  text.filter((id) => id !== ''),
);

const extraQuery = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, fc.constantFrom('&', '='), parameter);

const get = fc.tuple(petId, fc.nat(), extraQuery).map(([id, bits, extra]): TestRequest => {
  return { method: 'GET', target: `/v1/pets/${encode(id, bits)}${extra === '' ? '' : `?${extra}`}` };
});

type Field = readonly [key: JsonSample, value: string];

/**
 * A field with this name. Its value is mostly a good one and sometimes a bad one, and sometimes the field is missing.
 */
function field(name: string, good: fc.Arbitrary<string>, bad: fc.Arbitrary<string>): fc.Arbitrary<Field[]> {
  const value = fc.oneof({ weight: 6, arbitrary: good }, bad);
  const given = fc.tuple(value, fc.nat()).map(([json, bits]): Field[] => {
    return [[{ json: spell(name, bits), value: name }, json]];
  });
  return fc.oneof({ weight: 9, arbitrary: given }, fc.constant<Field[]>([]));
}

const quoted = (values: fc.Arbitrary<string>) =>
  fc.tuple(values, fc.nat()).map(([value, bits]) => spell(value, bits));

const json = spelledValue.map((sample) => sample.json);

/**
 * Names near the limits of the length (with characters of one and of two UTF-16 units), blank names, and other texts.
 */
const unusualName = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.string({ unit: fc.constantFrom('a', '\u{1f415}'), minLength: 253, maxLength: 257 }),
  },
  fc.string({ unit: fc.constantFrom(' ', '\u3000', '\ufeff', '\u00a0', '\u0085'), maxLength: 2 }),
  fc.constant(''),
  fc
    .tuple(fc.string(), fc.constantFrom('\0', '\t', '\u001f', '\u007f', '\u0080'), fc.string())
    .map((parts) => parts.join('')),
  text,
);

const petBody = fc
  .tuple(
    field(
      'name',
      quoted(aNewPet.map(({ name }) => name)),
      fc.oneof({ weight: 3, arbitrary: quoted(unusualName) }, json),
    ),
    field('categoryId', fc.oneof(int64.map(String), numberText), fc.oneof(numberText, json)),
    field('status', quoted(petStatus), fc.oneof(quoted(oddStatus), quoted(text), json)),
    fc.array(
      fc
        .tuple(
          spelledKey.filter(({ value }) => !['name', 'categoryId', 'status'].includes(value)),
          json,
        )
        .map(([key, value]): Field => [key, value]),
      { maxLength: 2 },
    ),
  )
  .chain((fields) => fc.shuffledSubarray(fields.flat(), { minLength: fields.flat().length }))
  .map((fields) => `{${fields.map(([key, value]) => `${key.json}:${value}`).join(',')}}`);

/** Only three bodies, so that requests with one key and an equal body are frequent. */
const commonBody = fc.constantFrom(
  ...PET_STATUSES.map((status) => `{"status":"${status}","name":"Rex","categoryId":7.0}`),
);

const key = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('a', '"a"', '\\', '"\\\\"') },
  fc.string({ unit: fc.constantFrom('a', 'B', '~'), minLength: 254, maxLength: 257 }),
  fc
    .tuple(fc.string(), fc.constantFrom('', ' ', '"', '\\'), fc.string())
    .map((parts) => `x${parts.join('')}x`)
    .filter((value) => /^[ -~]*$/.test(value)),
);

const post = fc
  .tuple(
    fc.oneof(
      { weight: 6, arbitrary: petBody },
      { weight: 6, arbitrary: commonBody },
      json,
      fc.constantFrom('', '{', '{"name":"Rex"} x', '\ufeff{}'),
    ),
    fc.option(key, { nil: undefined }),
  )
  .map(([body, idempotencyKey]): TestRequest => {
    return { method: 'POST', target: '/v1/pets', idempotencyKey, body };
  });

export const aRequest: fc.Arbitrary<TestRequest> = fc.oneof({ weight: 2, arbitrary: list }, get, {
  weight: 3,
  arbitrary: post,
});

/** The bytes of the request, with a header that closes the connection after the answer. */
export function bytesOf({ method, target, idempotencyKey, body = '' }: TestRequest, apiKey: string): Buffer {
  const content = Buffer.from(body);
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: a',
    'Connection: close',
    `Authorization: Bearer ${apiKey}`,
    ...(method === 'POST' ? ['Content-Type: application/json', `Content-Length: ${content.length}`] : []),
    ...(idempotencyKey === undefined ? [] : [`Idempotency-Key: ${idempotencyKey}`]),
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), content]);
}
