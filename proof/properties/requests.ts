import fc from 'fast-check';
import { PET_STATUSES } from '../../src/domain/pet.ts';
import { aNewPet, int64, petStatus, text } from './arbitraries.ts';
import { numberText, type Spelled, spell, spelledKey, spelledValue } from './json-arbitraries.ts';

/** A request to one of the operations, valid or nearly so. */
export type Sent = {
  readonly method: 'GET' | 'POST';
  /** Its path and query, as Latin-1 text. */
  readonly target: string;
  readonly idempotencyKey?: string | undefined;
  readonly body?: string;
};

/** Percent-encodes what has to be, and more of it by bits. */
const encode = (value: string, bits: number) =>
  Array.from(Buffer.from(value, 'utf8'), (byte, at) => {
    const character = String.fromCharCode(byte);
    const mustBe = byte <= 0x20 || byte >= 0x7f || '%&=+#\\/?'.includes(character);
    const isEncoded = mustBe || ((bits >> (at % 31)) & 1) === 1;
    return isEncoded ? `%${byte.toString(16).padStart(2, '0')}` : character;
  }).join('');

const nearStatus = fc
  .tuple(petStatus, fc.constantFrom(' ', '\0', '', 's'), fc.boolean())
  .map(([status, mark, isUpper]) => (isUpper ? status.toUpperCase() : status + mark));

const cursor = fc
  .oneof(fc.bigInt({ min: -2n, max: 12n }), int64)
  .map((id) => `v1.${BigInt.asUintN(64, id).toString(16).padStart(16, '0')}`);

const PARAMETERS = ['limit', 'status', 'cursor', 'Limit', 'page', '?limit', '__proto__', 'cursor[0]', ''];

const LIMITS = ['1', '2', '3', '99', '100', '0', '101', '-1', '05', '+5', '1e1', '1.5', '5 ', ''];

const parameter = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: fc.tuple(fc.constant('limit'), fc.constantFrom(...LIMITS)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('status'), fc.oneof(petStatus, petStatus, nearStatus)) },
      { weight: 3, arbitrary: fc.tuple(fc.constant('cursor'), cursor) },
      fc.tuple(fc.constantFrom(...PARAMETERS), fc.oneof(fc.constantFrom('', '5', 'sold\0'), text)),
    ),
    fc.nat(),
  )
  .map(([[name, value], bits]) => `${encode(name, bits)}=${encode(value, bits >> 3)}`);

/** Every byte but those that end the target of a request. */
const byte = fc
  .integer({ min: 0, max: 255 })
  .map((code) => String.fromCharCode(code))
  .filter((character) => !'\r\n '.includes(character));

const ODD_PARTS = ['', '&', 'limit', 'limit=5&', '#', '#x', '\\', 'limit=%3', '%', '+', '?', '='];

const joined = (part: fc.Arbitrary<string>) =>
  fc.array(part, { maxLength: 3 }).map((parts) => parts.join('&'));

const query = fc.oneof(
  { weight: 4, arbitrary: joined(parameter) },
  joined(fc.oneof(parameter, fc.constantFrom(...ODD_PARTS))),
  fc.tuple(parameter, fc.nat(40), byte).map(([part, at, mark]) => part.slice(0, at) + mark + part.slice(at)),
  fc.string({ unit: byte, maxLength: 12 }),
);

const list = query.map((sent): Sent => ({ method: 'GET', target: `/v1/pets?${sent}` }));

const NEAR_IDS = [
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
  fc.constantFrom(...NEAR_IDS),
  text.filter((id) => id !== ''),
);

const noParameter = fc.oneof({ weight: 6, arbitrary: fc.constant('') }, fc.constantFrom('&', '='), parameter);

const get = fc.tuple(petId, fc.nat(), noParameter).map(([id, bits, extra]): Sent => {
  return { method: 'GET', target: `/v1/pets/${encode(id, bits)}${extra === '' ? '' : `?${extra}`}` };
});

type Field = readonly [key: Spelled, value: string];

/** A field with a value of the first kind, sometimes of the second, and sometimes without any. */
function field(name: string, good: fc.Arbitrary<string>, bad: fc.Arbitrary<string>): fc.Arbitrary<Field[]> {
  const value = fc.oneof({ weight: 6, arbitrary: good }, bad);
  const given = fc.tuple(value, fc.nat()).map(([json, bits]): Field[] => {
    return [[{ json: spell(name, bits), value: name }, json]];
  });
  return fc.oneof({ weight: 9, arbitrary: given }, fc.constant<Field[]>([]));
}

const spelled = (values: fc.Arbitrary<string>) =>
  fc.tuple(values, fc.nat()).map(([value, bits]) => spell(value, bits));

const json = spelledValue.map((one) => one.json);

/** Names at the limits of their length, in characters of one and of two UTF-16 units, and blank ones. */
const nameAtLimit = fc.oneof(
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

const body = fc
  .tuple(
    field(
      'name',
      spelled(aNewPet.map(({ name }) => name)),
      fc.oneof({ weight: 3, arbitrary: spelled(nameAtLimit) }, json),
    ),
    field('categoryId', fc.oneof(int64.map(String), numberText), fc.oneof(numberText, json)),
    field('status', spelled(petStatus), fc.oneof(spelled(nearStatus), spelled(text), json)),
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

/** Few, so that retries with the same key are frequent. */
const fewPets = fc.constantFrom(
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
      { weight: 6, arbitrary: body },
      { weight: 6, arbitrary: fewPets },
      json,
      fc.constantFrom('', '{', '{"name":"Rex"} x', '\ufeff{}'),
    ),
    fc.option(key, { nil: undefined }),
  )
  .map(([sent, idempotencyKey]): Sent => {
    return { method: 'POST', target: '/v1/pets', idempotencyKey, body: sent };
  });

export const aRequest: fc.Arbitrary<Sent> = fc.oneof({ weight: 2, arbitrary: list }, get, {
  weight: 3,
  arbitrary: post,
});

/** The bytes of a request that ends its connection. */
export function bytesOf({ method, target, idempotencyKey, body: sent = '' }: Sent, apiKey: string): Buffer {
  const content = Buffer.from(sent);
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
