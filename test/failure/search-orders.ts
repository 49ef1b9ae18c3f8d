import type { Call, Create } from './history.ts';

/** Contents by id. */
type Catalogue = ReadonlyMap<number, string>;

/** An instant of a call. A page has one for each pet. */
type Step = {
  readonly begun: number;
  readonly ended: number;
  /** Whether it may never have happened. */
  readonly isOptional: boolean;
  /** The catalogues after it. None when the answer cannot be given in this one. */
  readonly apply: (before: Catalogue) => readonly Catalogue[];
};

/**
 * Searches an order of all calls that gives the answers of a history, as Wing and Gong did (1993). Takes exponential
 * time. Knows creates with an Idempotency-Key, gets, and last pages.
 */
export function isLinearizable(calls: readonly Call[]): boolean {
  const ids = idsIn(calls);
  const steps = calls.flatMap((call) => stepsOf(call, ids));
  const tried = new Set<string>();
  const search = (pending: readonly Step[], catalogue: Catalogue): boolean => {
    if (pending.every(({ isOptional }) => isOptional)) return true;
    const pets = [...catalogue].toSorted(([a], [b]) => a - b);
    const state = JSON.stringify([pending.map((step) => steps.indexOf(step)), pets]);
    if (tried.has(state)) return false;
    tried.add(state);
    const firstEnd = Math.min(...pending.map(({ ended }) => ended));
    const candidates = pending.filter(({ begun }) => begun <= firstEnd);
    const without = (done: Step) => pending.filter((step) => step !== done);
    // A step that is possible now and changes nothing can always be the next one.
    const idle = candidates.find((step) => step.apply(catalogue)[0] === catalogue);
    if (idle !== undefined) return search(without(idle), catalogue);
    return candidates.some((next) => next.apply(catalogue).some((after) => search(without(next), after)));
  };
  return search(steps, new Map());
}

function stepsOf(call: Call, ids: readonly number[]): readonly Step[] {
  switch (call.type) {
    case 'create': {
      if (call.outcome === 'refused') return [];
      if (call.outcome === 'acknowledged') {
        return [{ ...at(call), isOptional: false, apply: (before) => acknowledge(call, before) }];
      }
      const apply = (before: Catalogue) => {
        if ([...before.values()].includes(call.content)) return [before];
        const free = ids.filter((id) => !before.has(id));
        return free.map((id) => new Map(before).set(id, call.content));
      };
      return [{ begun: call.begun, ended: Infinity, isOptional: true, apply }];
    }
    case 'get':
      return [
        { ...at(call), isOptional: false, apply: reads(call.id, call.answer && parse(call.answer).content) },
      ];
    case 'page': {
      const shown = new Map((call.pets ?? []).map(parse).map(({ id, content }) => [id, content]));
      return ids
        .filter((id) => id > call.after)
        .map((id) => ({ ...at(call), isOptional: false, apply: reads(id, shown.get(id)) }));
    }
    default:
      throw new Error(`no model of a call of type ${call.type}`);
  }
}

function acknowledge(
  { answer = '', content, replayed = false }: Create,
  before: Catalogue,
): readonly Catalogue[] {
  const { id } = parse(answer);
  if (replayed) return before.get(id) === content ? [before] : [];
  const isNew = !before.has(id) && ![...before.values()].includes(content);
  return isNew ? [new Map(before).set(id, content)] : [];
}

function reads(id: number, content: string | undefined): Step['apply'] {
  return (before) => (before.get(id) === content ? [before] : []);
}

function at({ begun, ended }: Call): Pick<Step, 'begun' | 'ended'> {
  return { begun, ended };
}

/** Every id that the history names. A pet that it never shows may as well not exist. */
function idsIn(calls: readonly Call[]): readonly number[] {
  const ids = calls.flatMap((call) => {
    if (call.type === 'get') return [call.id, ...(call.answer ? [parse(call.answer).id] : [])];
    if (call.type === 'page') return (call.pets ?? []).map((json) => parse(json).id);
    return call.type === 'create' && call.answer ? [parse(call.answer).id] : [];
  });
  return [...new Set(ids)];
}

function parse(json: string): { readonly id: number; readonly content: string } {
  const [, id, content = ''] = /^\{"id":(\d+),(.*)$/.exec(json) ?? [];
  return { id: Number(id), content };
}
