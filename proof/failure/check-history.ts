import { checkKeys } from './check-keys.ts';
import type { Call, Create, Page } from './history.ts';
import type { Report, Violation } from './violation.ts';
import { type Pet, VisiblePets } from './visible-pets.ts';

export type Verdict = {
  readonly violations: readonly Violation[];
  /** The number of pets that were shown although no answer acknowledged them. They are no violations. */
  readonly foundUnknownCount: number;
};

/** How much of a call a violation quotes, in UTF-16 code units. */
const MAX_EVIDENCE_LENGTH = 500;

/**
 * Decides whether a history is linearizable. A history is linearizable if all calls could have happened one after the
 * other, each at some instant between its begin and its end, with the answers that the clients received.
 *
 * The known checkers Porcupine and Elle do not fit. Porcupine searches the orders of overlapping calls, and a call of
 * unknown outcome overlaps all later calls. With a thousand such calls in an outage, the search would not end. Elle
 * infers orders from lists or registers, and the catalogue of pets is a set.
 */
export function checkHistory({ calls }: { readonly calls: readonly Call[] }): Verdict {
  const violations: Violation[] = [];
  const reported = new Set<string>();
  const report: Report = (rule, subject, why, ...evidence) => {
    if (reported.has(`${rule} ${subject}`)) return;
    reported.add(`${rule} ${subject}`);
    violations.push({ rule, what: [`${subject} ${why}`, ...evidence.map(describeCall)].join('\n    ') });
  };
  const creates = calls.filter((call) => call.type === 'create');
  const requests = Map.groupBy(creates, ({ content }) => content);
  const pets = findShownPets(calls, requests, report);
  checkAcknowledgements(requests, pets, report);
  checkIdempotencyKeys(creates, pets, report);
  checkIdOrder(requests, pets, report);
  checkReads(calls, pets, report);
  checkKeys(calls, report);
  const foundUnknownPets = [...pets.keys()].filter((content) => {
    return requests.get(content)?.every(({ outcome }) => outcome !== 'acknowledged');
  });
  return { violations, foundUnknownCount: foundUnknownPets.length };
}

type Requests = ReadonlyMap<string, readonly Create[]>;
type Pets = ReadonlyMap<string, Pet>;

/** The pets that were requested and then shown. The key is the content: the JSON of the pet after its id. */
function findShownPets(calls: readonly Call[], requests: Requests, report: Report): Pets {
  const pets = new Map<string, Pet>();
  const byId = new Map<number, Pet>();
  for (const call of calls.toSorted((a, b) => a.endMs - b.endMs)) {
    for (const json of petsShownBy(call)) {
      const parsedPet = parsePet(json);
      if (parsedPet === undefined) {
        report('wrong answer', json, 'is not the JSON of a pet', call);
        continue;
      }
      const { id, content } = parsedPet;
      const possibleRequests = requests.get(content)?.filter(({ outcome }) => outcome !== 'refused') ?? [];
      if (!possibleRequests.some(({ beginMs }) => beginMs <= call.endMs)) {
        report(
          'unrequested',
          json,
          'was shown, but no request can have added it',
          call,
          ...(requests.get(content) ?? []),
        );
        continue;
      }
      const pet = pets.get(content) ?? { id, content, firstCall: call };
      const petWithId = byId.get(id) ?? pet;
      if (pet.id !== id)
        report('second pet', content, `has the ids ${pet.id} and ${id}`, pet.firstCall, call);
      if (petWithId.content !== content)
        report('id twice', `${id}`, 'is the id of two pets', petWithId.firstCall, call);
      pets.set(content, pet);
      byId.set(id, petWithId);
    }
  }
  return pets;
}

/** The JSON of every pet that the call shows. */
function petsShownBy(call: Call): readonly string[] {
  if (call.type === 'page' || call.type === 'survey') return call.pets ?? [];
  return 'answer' in call && call.answer !== undefined ? [call.answer] : [];
}

function parsePet(json: string): { readonly id: number; readonly content: string } | undefined {
  const [, digits, content] = /^\{"id":([1-9]\d{0,15}),(.*\})$/s.exec(json) ?? [];
  const id = Number(digits);
  return content === undefined || !Number.isSafeInteger(id) ? undefined : { id, content };
}

/** Of the requests for one pet, exactly one creates it. The answers to the other requests are marked as replayed. */
function checkAcknowledgements(requests: Requests, pets: Pets, report: Report): void {
  for (const [content, creates] of requests) {
    for (const create of creates) {
      const { outcome, answer = '' } = create;
      if (outcome !== 'acknowledged' || parsePet(answer)?.content === content) continue;
      report('wrong answer', content, `was acknowledged with ${answer}`, create);
    }
    const created = creates.filter(
      ({ outcome, replayed }) => outcome === 'acknowledged' && replayed !== true,
    );
    if (created.length > 1)
      report('wrong answer', content, 'has two answers that are not marked as replayed', ...created);
    const replays = creates.filter(({ replayed }) => replayed === true);
    const creators = created.length > 0 ? created : creates.filter(({ outcome }) => outcome === 'unknown');
    const pet = pets.get(content);
    if (pet === undefined || creators.some(({ beginMs }) => beginMs <= pet.firstCall.endMs)) continue;
    report(
      'wrong answer',
      content,
      'was shown before the request that created it began',
      pet.firstCall,
      ...created,
      ...replays,
    );
  }
}

/** All requests with the same Idempotency-Key and the same API key add at most one pet. */
function checkIdempotencyKeys(creates: readonly Create[], pets: Pets, report: Report): void {
  const keyed = creates.filter(({ idempotencyKey }) => idempotencyKey !== undefined);
  for (const [key, sameKey] of Map.groupBy(keyed, (create) => `${create.apiKey} ${create.idempotencyKey}`)) {
    const contents = new Set(sameKey.map(({ content }) => content).filter((content) => pets.has(content)));
    if (contents.size > 1)
      report('second pet', key, `has two pets: ${[...contents].join(' and ')}`, ...sameKey);
  }
}

/** Each pet has a greater id than all pets that were shown before the first request for it began. */
function checkIdOrder(requests: Requests, pets: Pets, report: Report): void {
  const shown = [...pets.values()].toSorted((a, b) => a.firstCall.endMs - b.firstCall.endMs);
  const requestedPets = shown
    .map((pet) => ({
      pet,
      beginMs: Math.min(...(requests.get(pet.content) ?? []).map(({ beginMs }) => beginMs)),
    }))
    .toSorted((a, b) => a.beginMs - b.beginMs);
  let next = 0;
  let greatest: Pet | undefined;
  for (const { pet, beginMs } of requestedPets) {
    for (; next < shown.length && shown[next]!.firstCall.endMs < beginMs; next++) {
      if (greatest === undefined || shown[next]!.id > greatest.id) greatest = shown[next];
    }
    if (greatest === undefined || greatest.id < pet.id) continue;
    report(
      'id order',
      petName(pet),
      'was requested after a greater id was shown',
      greatest.firstCall,
      pet.firstCall,
    );
  }
}

/**
 * No read may miss a pet that an earlier call showed. This rule decides whether the reads are linearizable:
 *
 * - The catalogue only grows, and each pet begins to exist once. The instant at which it begins to exist is not before
 *   the first request for it, not after the end of a call that showed it, and not before the begin of a read that
 *   missed it.
 * - The contract does not promise that a page shows one instant, so a page is one read of each pet in its range.
 * - A history is linearizable if the history of each pet is linearizable (Herlihy and Wing 1990, theorem 1).
 */
function checkReads(calls: readonly Call[], pets: Pets, report: Report): void {
  const visible = new VisiblePets([...pets.values()]);
  for (const call of calls) {
    switch (call.type) {
      case 'get': {
        const answeredId = parsePet(call.answer ?? '')?.id;
        if (call.answer !== undefined && answeredId !== call.id) {
          report(
            'wrong answer',
            `the pet ${call.id}`,
            `was requested, and the answer was ${call.answer}`,
            call,
          );
        }
        if (call.status !== 404) break;
        const missedPet = visible.withId(call.id, call.beginMs);
        if (missedPet) report('missed', petName(missedPet), 'was not found', missedPet.firstCall, call);
        break;
      }
      case 'page': {
        if (call.pets === undefined) break;
        const ids = idsOf(call.pets);
        checkPage(call, ids, report);
        const { after, filter, beginMs } = call;
        const upTo =
          call.hasNext === true ? ids.reduce((greatest, id) => Math.max(greatest, id), after) : Infinity;
        for (const pet of visible.inRange({ after, upTo, filter, beginMs }, new Set(ids))) {
          report('missed', petName(pet), 'was missing on a page', pet.firstCall, call);
        }
        break;
      }
      case 'survey': {
        const wholeStorage = { after: 0, upTo: Infinity, filter: undefined, beginMs: call.beginMs };
        for (const pet of visible.inRange(wholeStorage, new Set(idsOf(call.pets)))) {
          report('lost', petName(pet), 'was missing in the storage', pet.firstCall, call);
        }
        break;
      }
      case 'create':
      case 'wrong':
      case 'key created':
      case 'key revoked':
    }
  }
}

function checkPage(page: Page, ids: readonly number[], report: Report): void {
  const { pets = [], after, limit, hasNext, filter } = page;
  const isAscending = ids.every((id, index) => id > (ids[index - 1] ?? after));
  if (!isAscending)
    report('wrong page', page.url, 'does not show each pet once, in the order of the ids', page);
  if (pets.length > limit || (hasNext === true && pets.length < limit)) {
    report('wrong page', page.url, `has ${pets.length} pets, and its limit is ${limit}`, page);
  }
  if (filter !== undefined && !pets.every((json) => json.endsWith(`"status":"${filter}"}`))) {
    report('wrong page', page.url, 'has a pet of another status', page);
  }
}

function idsOf(pets: readonly string[]): readonly number[] {
  return pets.map((json) => parsePet(json)?.id ?? Number.NaN);
}

function petName({ id, content }: Pet): string {
  return `{"id":${id},${content}`;
}

function describeCall(call: Call): string {
  const text = JSON.stringify(call);
  return text.length > MAX_EVIDENCE_LENGTH ? `${text.slice(0, MAX_EVIDENCE_LENGTH)}…` : text;
}
