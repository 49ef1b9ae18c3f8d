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

/** A fixed seed: every run plays the same cases. `npm run fuzz` takes a random seed. */
const SEED = 1;
const CASES = 100;

const tokens = new InMemoryTokenVerifier([toKnownKey({ label: 'fuzz', token: FUZZ_KEY })]);

async function startService(pets = new InMemoryPetRepository()) {
  const api = await startApi({ pets, tokens, limits: FUZZ_LIMITS });
  return { api, address: { port: api.port, tls: SPEAKS_TLS }, [Symbol.asyncDispose]: () => api.close() };
}

describe('the service', () => {
  const names = readdirSync(CORPUS).filter((name) => name.endsWith('.json'));

  test.each(names)('answers every request of the corpus file %s correctly', async (name) => {
    await using service = await startService();
    const fuzzCase = JSON.parse(readFileSync(join(CORPUS, name), 'utf8')) as FuzzCase;
    expect(await playAlone(fuzzCase, service.address)).toStrictEqual([]);
    expect(service.api.log.failures).toStrictEqual([]);
  });
});

test(`the service answers every request correctly in ${CASES} cases of npm run fuzz`, async () => {
  await using service = await startService();
  const options = { address: service.address, seed: SEED, casesPerRound: CASES };
  const { findings, answers } = await campaign({ ...options, isOver: ({ cases }) => cases >= CASES });
  expect(findings).toStrictEqual([]);
  expect(answers).toBeGreaterThan(CASES);
});

/** A storage with one fault. The rows of the last test name the faults. */
class FaultyPets extends InMemoryPetRepository {
  readonly #fault: string;

  constructor(fault: string) {
    super();
    this.#fault = fault;
  }

  override async findById(id: bigint) {
    if (this.#fault === 'a request that causes a 500' && id < 0n) throw new Error('a fault');
    const addsPet = this.#fault === 'a pet that no request has added' && id === 17n;
    if (addsPet) await this.insert(aPet({ name: 'Eve', categoryId: 1n }));
    return super.findById(id);
  }

  override async list(query: PetQuery) {
    const losesPet = this.#fault === 'a pet that is lost';
    return (await super.list(query)).filter(({ categoryId }) => !losesPet || categoryId !== 0n);
  }
}

// These faults need a running service. judge.test.ts has the faults that single answers show.
test.each([
  ['a request that causes a 500', /the status is a 5xx/],
  ['a pet that no request has added', /no request added the stored pet/],
  ['a pet that is lost', /pet \d+ is missing/],
])('the fuzzer finds %s', async (fault, problem) => {
  await using service = await startService(new FaultyPets(fault));
  const options = { address: service.address, seed: SEED, casesPerRound: 40 };
  const { findings } = await campaign({ ...options, isOver: ({ cases }) => cases >= 160 });
  expect(findings.flatMap(({ problems }) => problems).join('\n')).toMatch(problem);
});
