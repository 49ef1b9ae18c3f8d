import { getRequest, postRequest } from '../support/http.ts';

/** How many pets there are before anything is measured. */
const PETS = 1_000;

export const KEY = 'a-key-for-the-benchmark';

const DEEP = PETS - 150;
const STATUSES = ['available', 'pending', 'sold'] as const;

/** How a contestant is told where a page begins. */
export type Paging = 'cursor' | 'after';

export type Workload = {
  readonly name: string;
  readonly statuses: readonly number[];
  /** On MongoDB also with a single connection. */
  readonly alone?: boolean;
  requests(paging: Paging): readonly string[];
};

/** The name of the workload that mixes reads and creates. */
export const MIXED = '90 % reads';

/** The same at half of the rate that the contestants reach. */
export const HALF_OF_PEAK = `${MIXED}, half of peak`;

export function oneConnection(workload: string): string {
  return `${workload}, one connection`;
}

const CREATE = create(1);

/** The first pets: a third of each status. */
export const FILL: readonly string[] = Array.from({ length: PETS }, (_, index) => create(index));

const list = (query: string) => () => [get(`/v1/pets${query}`)];

export const WORKLOADS: readonly Workload[] = [
  { name: 'list-20', statuses: [200], requests: list('') },
  { name: 'list-20 filter', statuses: [200], requests: list('?status=available') },
  { name: 'list-100', statuses: [200], requests: list('?limit=100') },
  {
    name: 'deep page',
    statuses: [200],
    requests: (paging) => [
      get(
        paging === 'after'
          ? `/v1/pets?limit=20&after=${DEEP}`
          : `/v1/pets?limit=20&cursor=v1.${DEEP.toString(16).padStart(16, '0')}`,
      ),
    ],
  },
  { name: 'get', alone: true, statuses: [200], requests: () => [get('/v1/pets/500')] },
  { name: 'create', alone: true, statuses: [201], requests: () => [CREATE] },
  { name: '401', statuses: [401], requests: () => [get('/v1/pets', 'a-wrong-key-of-the-same-form')] },
  { name: '400', statuses: [400], requests: list('?limit=1000') },
  {
    name: MIXED,
    statuses: [200, 201],
    requests: () => [
      ...Array.from({ length: 6 }, () => get('/v1/pets')),
      ...['/v1/pets/7', '/v1/pets/70', '/v1/pets/700'].map((path) => get(path)),
      CREATE,
    ],
  },
];

function get(path: string, key = KEY): string {
  return getRequest(path, key);
}

function create(index: number): string {
  const pet = { name: `Rex ${index % 100}`, categoryId: index % 10, status: STATUSES[index % 3] };
  return postRequest(JSON.stringify(pet), KEY);
}
