import { checkKeys } from './check-keys.ts';
import type { Call, Create, Page } from './history.ts';
import type { Report, Violation } from './violation.ts';
import { type Pet, VisiblePets } from './visible-pets.ts';

export type Verdict = {
  readonly violations: readonly Violation[];
  /** The number of pets that were shown but never acknowledged. A lost answer is no violation. */
  readonly foundUnknownCount: number;
};

/** A violation quotes at most this many characters (UTF-16 code units) of a call. */
const MAX_EVIDENCE_LENGTH = 500;

/**
 * Decides whether a history is linearizable. A history is linearizable if all calls could have happened one after the
 * other, each at some instant between its begin and its end, with the answers that the clients received.
 *
 * The checkers Porcupine and Elle cannot be used here. Porcupine tries all orders of overlapping calls, and a call
 * whose outcome is unknown overlaps all later calls. An outage causes a thousand such calls, so Porcupine would not
 * finish. Elle finds the order of calls from lists or registers, but the pets are a set.
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

/** Returns the pets that were requested and then shown. The key of the map is the JSON of the pet after its id. */
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
      const creates = requests.get(content) ?? [];
      if (!creates.some(({ outcome, beginMs }) => outcome !== 'refused' && beginMs <= call.endMs)) {
        report('unrequested', json, 'was shown, but no request can have added it', call, ...creates);
        continue;
      }
      const pet = pets.get(content) ?? { id, content, firstCall: call };
      const petOfId = byId.get(id) ?? pet;
      if (pet.id !== id) report('second pet', content, `has ids ${pet.id} and ${id}`, pet.firstCall, call);
      if (petOfId.content !== content) report('id twice', `${id}`, 'names two pets', petOfId.firstCall, call);
      pets.set(content, pet);
      byId.set(id, petOfId);
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

/** Of all requests with the same content, exactly one adds the pet. Each other acknowledgement is a marked replay. */
function checkAcknowledgements(requests: Requests, pets: Pets, report: Report): void {
  for (const [content, creates] of requests) {
    for (const create of creates) {
      const { outcome, answer = '' } = create;
      if (outcome !== 'acknowledged' || parsePet(answer)?.content === content) continue;
      report('wrong answer', content, `was acknowledged with ${answer}`, create);
    }
    // An adder is a request that added the pet. If none is known, each request of unknown outcome may be the adder.
    const adders = creates.filter(({ outcome, replayed }) => outcome === 'acknowledged' && !replayed);
    if (adders.length > 1) report('wrong answer', content, 'has two answers that are no replays', ...adders);
    const replays = creates.filter(({ replayed }) => replayed === true);
    const maybeAdders = adders.length > 0 ? adders : creates.filter(({ outcome }) => outcome === 'unknown');
    const pet = pets.get(content);
    if (pet === undefined || maybeAdders.some(({ beginMs }) => beginMs <= pet.firstCall.endMs)) continue;
    report('wrong answer', content, 'was shown before its request', pet.firstCall, ...adders, ...replays);
  }
}

/** All requests with the same Idempotency-Key and the same API key add at most one pet. */
function checkIdempotencyKeys(creates: readonly Create[], pets: Pets, report: Report): void {
  const keyed = creates.filter(({ idempotencyKey }) => idempotencyKey !== undefined);
  for (const [key, repeats] of Map.groupBy(keyed, (create) => `${create.apiKey} ${create.idempotencyKey}`)) {
    const contents = new Set(repeats.map(({ content }) => content).filter((content) => pets.has(content)));
    if (contents.size > 1) report('second pet', key, `has pets ${[...contents].join(' and ')}`, ...repeats);
  }
}

/** Each pet has a greater id than all pets that were shown before the first request for it began. */
function checkIdOrder(requests: Requests, pets: Pets, report: Report): void {
  const shown = [...pets.values()].toSorted((a, b) => a.firstCall.endMs - b.firstCall.endMs);
  /** The begin of the first request for the pet. A pet in `pets` has at least one request. */
  const beginOf = ({ content }: Pet) => Math.min(...requests.get(content)!.map(({ beginMs }) => beginMs));
  const requestedPets = shown
    .map((pet) => ({ pet, beginMs: beginOf(pet) }))
    .toSorted((a, b) => a.beginMs - b.beginMs);
  let next = 0;
  let greatest: Pet | undefined;
  for (const { pet, beginMs } of requestedPets) {
    for (; next < shown.length && shown[next]!.firstCall.endMs < beginMs; next++) {
      if (greatest === undefined || shown[next]!.id > greatest.id) greatest = shown[next];
    }
    if (greatest === undefined || greatest.id < pet.id) continue;
    report('id order', petName(pet), 'was added after a greater id', greatest.firstCall, pet.firstCall);
  }
}

/**
 * No read may miss a pet that an earlier call showed. This rule decides whether the reads are linearizable:
 *
 * - Pets are only added, and each pet is added once, at some instant. This instant is after the begin of the first
 *   request for the pet, after the begin of each read that missed the pet, and before the end of each call that showed
 *   the pet.
 * - A page need not show all its pets as of one instant, so it counts as one read of each pet in its range.
 * - A history is linearizable if the history of each pet is linearizable (Herlihy and Wing 1990, theorem 1).
 */
function checkReads(calls: readonly Call[], pets: Pets, report: Report): void {
  const visible = new VisiblePets([...pets.values()]);
  for (const call of calls) {
    switch (call.type) {
      case 'get': {
        const answeredId = parsePet(call.answer ?? '')?.id;
        if (call.answer !== undefined && answeredId !== call.id) {
          report('wrong answer', `the pet ${call.id}`, `was answered with ${call.answer}`, call);
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
  if (!isAscending) report('wrong page', page.url, 'has ids that do not ascend', page);
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
