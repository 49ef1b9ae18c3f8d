import { checkKeys } from './check-keys.ts';
import type { Call, Create, Page } from './history.ts';
import type { Report, Violation } from './violation.ts';
import { type Pet, VisiblePets } from './visible-pets.ts';

export type Verdict = {
  readonly violations: readonly Violation[];
  /** Pets of unknown outcome that were seen. Neither right nor wrong. */
  readonly unknownFound: number;
};

/** In UTF-16 code units. */
const MAX_EVIDENCE = 500;

/**
 * Decides whether a history is linearizable: whether all calls could have happened one after the other, each at some
 * instant between its begin and its end, with the answers that the clients had.
 *
 * The catalogue is a set that only grows. The services choose the ids, and the contents are unique, so each pet is an
 * object of its own that begins to exist once. The contract does not promise that a page shows one instant, so a page
 * counts as one read of each pet in its range. Linearizability is local (Herlihy and Wing 1990, theorem 1): the history
 * is linearizable if the history of each pet is. The instant at which a pet begins to exist has three bounds: it is not
 * before the first request for it, not after the end of a call that acknowledged or showed it, and not before the begin
 * of a read that missed it. So no read may miss a pet that an earlier call showed. A pass over the reads decides that.
 *
 * Porcupine and Elle are not used. Porcupine searches the orders of overlapping calls, and a call of unknown outcome
 * overlaps all later ones: an outage with a thousand of them would take it for ever. Elle infers orders from lists or
 * registers, and the catalogue is neither.
 */
export function checkHistory({ calls }: { readonly calls: readonly Call[] }): Verdict {
  const violations: Violation[] = [];
  const reported = new Set<string>();
  const report: Report = (rule, subject, why, ...evidence) => {
    if (reported.has(`${rule} ${subject}`)) return;
    reported.add(`${rule} ${subject}`);
    violations.push({ rule, what: [`${subject} ${why}`, ...evidence.map(describe)].join('\n    ') });
  };
  const creates = calls.filter((call) => call.type === 'create');
  const requests = Map.groupBy(creates, ({ content }) => content);
  const pets = findPets(calls, requests, report);
  checkAcknowledgements(requests, pets, report);
  checkIdempotencyKeys(creates, pets, report);
  checkIdOrder(requests, pets, report);
  checkReads(calls, pets, report);
  checkKeys(calls, report);
  const unknownFound = [...pets.keys()].filter((content) => {
    return requests.get(content)?.every(({ outcome }) => outcome !== 'acknowledged');
  });
  return { violations, unknownFound: unknownFound.length };
}

type Requests = ReadonlyMap<string, readonly Create[]>;
type Pets = ReadonlyMap<string, Pet>;

/** The pets that a client has asked for, by content, each with the first call that showed it. */
function findPets(calls: readonly Call[], requests: Requests, report: Report): Pets {
  const pets = new Map<string, Pet>();
  const byId = new Map<number, Pet>();
  for (const call of calls.toSorted((a, b) => a.endMs - b.endMs)) {
    for (const json of shownBy(call)) {
      const parts = parsePet(json);
      if (parts === undefined) {
        report('wrong answer', json, 'is no pet', call);
        continue;
      }
      const { id, content } = parts;
      const asked = requests.get(content)?.filter(({ outcome }) => outcome !== 'refused') ?? [];
      if (!asked.some(({ beginMs }) => beginMs <= call.endMs)) {
        report('unrequested', json, 'was shown', call, ...(requests.get(content) ?? []));
        continue;
      }
      const known = pets.get(content) ?? { id, content, shown: call };
      const other = byId.get(id) ?? known;
      if (known.id !== id) report('second pet', content, `has ${known.id} and ${id}`, known.shown, call);
      if (other.content !== content) report('id twice', `${id}`, 'has two pets', other.shown, call);
      pets.set(content, known);
      byId.set(id, other);
    }
  }
  return pets;
}

/** The JSON of every pet in the answer. */
function shownBy(call: Call): readonly string[] {
  if (call.type === 'page' || call.type === 'survey') return call.pets ?? [];
  return 'answer' in call && call.answer !== undefined ? [call.answer] : [];
}

function parsePet(json: string): { readonly id: number; readonly content: string } | undefined {
  const [, digits, content] = /^\{"id":([1-9]\d{0,15}),(.*\})$/s.exec(json) ?? [];
  const id = Number(digits);
  return content === undefined || !Number.isSafeInteger(id) ? undefined : { id, content };
}

/** One request creates the pet. An answer says that it was this one, or another one with the same key. */
function checkAcknowledgements(requests: Requests, pets: Pets, report: Report): void {
  for (const [content, creates] of requests) {
    for (const create of creates) {
      const { outcome, answer = '' } = create;
      if (outcome !== 'acknowledged' || parsePet(answer)?.content === content) continue;
      report('wrong answer', content, `got ${answer}`, create);
    }
    const made = creates.filter(({ outcome, replayed }) => outcome === 'acknowledged' && replayed !== true);
    if (made.length > 1) report('wrong answer', content, 'was acknowledged twice as new', ...made);
    const replays = creates.filter(({ replayed }) => replayed === true);
    const mayHaveMade = made.length > 0 ? made : creates.filter(({ outcome }) => outcome === 'unknown');
    const pet = pets.get(content);
    if (pet === undefined || mayHaveMade.some(({ beginMs }) => beginMs <= pet.shown.endMs)) continue;
    report(
      'wrong answer',
      content,
      'was there before the request that made it',
      pet.shown,
      ...made,
      ...replays,
    );
  }
}

/** An Idempotency-Key belongs to an API key, and to one content. */
function checkIdempotencyKeys(creates: readonly Create[], pets: Pets, report: Report): void {
  const keyed = creates.filter(({ key }) => key !== undefined);
  for (const [key, same] of Map.groupBy(keyed, (create) => `${create.apiKey} ${create.key}`)) {
    const contents = new Set(same.map(({ content }) => content).filter((content) => pets.has(content)));
    if (contents.size > 1) report('second pet', key, `has ${[...contents].join(' and ')}`, ...same);
  }
}

function checkIdOrder(requests: Requests, pets: Pets, report: Report): void {
  const shown = [...pets.values()].toSorted((a, b) => a.shown.endMs - b.shown.endMs);
  const asked = shown
    .map((pet) => ({ pet, beginMs: Math.min(...(requests.get(pet.content) ?? []).map(({ beginMs }) => beginMs)) }))
    .toSorted((a, b) => a.beginMs - b.beginMs);
  let next = 0;
  let greatest: Pet | undefined;
  for (const { pet, beginMs } of asked) {
    for (; next < shown.length && shown[next]!.shown.endMs < beginMs; next++) {
      if (greatest === undefined || shown[next]!.id > greatest.id) greatest = shown[next];
    }
    if (greatest === undefined || greatest.id < pet.id) continue;
    report('id order', petName(pet), 'came after a greater id', greatest.shown, pet.shown);
  }
}

function checkReads(calls: readonly Call[], pets: Pets, report: Report): void {
  const visible = new VisiblePets([...pets.values()]);
  for (const call of calls) {
    switch (call.type) {
      case 'get': {
        const answered = parsePet(call.answer ?? '')?.id;
        if (call.answer !== undefined && answered !== call.id) {
          report('wrong answer', `the pet ${call.id}`, `was answered ${call.answer}`, call);
        }
        if (call.status !== 404) break;
        const missed = visible.withId(call.id, call.beginMs);
        if (missed) report('missed', petName(missed), 'was not found', missed.shown, call);
        break;
      }
      case 'page': {
        if (call.pets === undefined) break;
        const ids = idsOf(call.pets);
        checkPage(call, ids, report);
        const { after, filter, beginMs } = call;
        const upTo =
          call.more === true ? ids.reduce((greatest, id) => Math.max(greatest, id), after) : Infinity;
        for (const pet of visible.in({ after, upTo, filter, beginMs }, new Set(ids))) {
          report('missed', petName(pet), 'was missing on a page', pet.shown, call);
        }
        break;
      }
      case 'survey': {
        const everything = { after: 0, upTo: Infinity, filter: undefined, beginMs: call.beginMs };
        for (const pet of visible.in(everything, new Set(idsOf(call.pets)))) {
          report('lost', petName(pet), 'was missing in the storage', pet.shown, call);
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
  const { pets = [], after, limit, more, filter } = page;
  const isAscending = ids.every((id, index) => id > (ids[index - 1] ?? after));
  if (!isAscending) report('wrong page', page.url, 'has pets out of order, or again', page);
  if (pets.length > limit || (more === true && pets.length < limit)) {
    report('wrong page', page.url, `has ${pets.length} pets`, page);
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

function describe(call: Call): string {
  const text = JSON.stringify(call);
  return text.length > MAX_EVIDENCE ? `${text.slice(0, MAX_EVIDENCE)}…` : text;
}
