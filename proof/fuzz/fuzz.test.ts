import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { InMemoryTokenVerifier, toKnownKey } from '../../src/adapters/tokens/in-memory-token-verifier.ts';
import type { PetQuery } from '../../src/application/ports/pet-repository.ts';
import { startApi } from '../../test/support/http.ts';
import { SPEAKS_TLS } from '../../test/support/tls/pem-files.ts';
import { campaign, playAlone } from './campaign.ts';
import type { FuzzCase } from './fuzz-case.ts';
import { FUZZ_KEY, FUZZ_LIMITS } from './fuzz-limits.ts';
import { aPet } from '../../test/support/pets.ts';

const CORPUS = join(import.meta.dirname, 'corpus');

/** Always the same cases. `npm run fuzz` takes a new seed each time. */
const SEED = 1;
const CASES = 100;

const tokens = new InMemoryTokenVerifier([toKnownKey({ label: 'fuzz', token: FUZZ_KEY })]);

async function startFuzzed(pets = new InMemoryPetRepository()) {
  const api = await startApi({ pets, tokens, limits: FUZZ_LIMITS });
  return { api, address: { port: api.port, tls: SPEAKS_TLS }, [Symbol.asyncDispose]: () => api.close() };
}

describe('the corpus', () => {
  const names = readdirSync(CORPUS).filter((name) => name.endsWith('.json'));

  test.each(names)('%s', async (name) => {
    await using fuzzed = await startFuzzed();
    const fuzzCase = JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as FuzzCase;
    expect(await playAlone(fuzzCase, fuzzed.address)).toStrictEqual([]);
    expect(fuzzed.api.log.failures).toStrictEqual([]);
  });
});

test(`${CASES} cases, as npm run fuzz plays them`, async () => {
  await using fuzzed = await startFuzzed();
  const options = { address: fuzzed.address, seed: SEED, casesARound: CASES };
  const { findings, answers } = await campaign({ ...options, isOver: ({ cases }) => cases >= CASES });
  expect(findings).toStrictEqual([]);
  expect(answers).toBeGreaterThan(CASES);
});

/** A service with a fault. */
class FaultyPets extends InMemoryPetRepository {
  readonly #fault: string;

  constructor(fault: string) {
    super();
    this.#fault = fault;
  }

  override async findById(id: bigint) {
    if (this.#fault === 'a 500 for some input' && id < 0n) throw new Error('a fault');
    const adds = this.#fault === 'a pet that a refused request has added' && id === 17n;
    if (adds) await this.insert(aPet({ name: 'Eve', categoryId: 1n }));
    return super.findById(id);
  }

  override async list(query: PetQuery) {
    const loses = this.#fault === 'a lost pet';
    return (await super.list(query)).filter(({ categoryId }) => !loses || categoryId !== 0n);
  }
}

// Faults that only show in a running service. judge.test.ts has the others.
test.each([
  ['a 500 for some input', /the service blames itself/],
  ['a pet that a refused request has added', /no request asked for the stored pet/],
  ['a lost pet', /pet \d+ is missing/],
])('the fuzzer finds %s', async (fault, problem) => {
  await using fuzzed = await startFuzzed(new FaultyPets(fault));
  const options = { address: fuzzed.address, seed: SEED, casesARound: 40 };
  const { findings } = await campaign({ ...options, isOver: ({ cases }) => cases >= 160 });
  expect(findings.flatMap(({ problems }) => problems).join('\n')).toMatch(problem);
});
