import type { FuzzCase, Step } from './fuzz-case.ts';
import { makeRequest, type Marks } from './make-request.ts';
import { mutate } from './mutate.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';

const MAX_CONNECTIONS = 4;
const MAX_PIPELINED = 6;

/**
 * Makes a case, always the same for a `seed` and a `number`. `requestCount`: its requests before `mutate` changes some.
 */
export function makeCase(
  seed: number,
  number: number,
): { readonly fuzzCase: FuzzCase; readonly requestCount: number } {
  const random = new SeededRandom(seed, number);
  let markCount = 0;
  const marks: Marks = { next: () => `f${number.toString(36)}-${(markCount++).toString(36)}` };
  let requestCount = 0;
  // Each connection has a queue of steps. `on` is the number of the connection.
  const queues = Array.from({ length: 1 + random.below(MAX_CONNECTIONS) }, (_, on) => {
    const texts = Array.from({ length: 1 + random.below(MAX_PIPELINED) }, () => makeRequest(random, marks));
    requestCount += texts.length;
    // The service ignores the requests after a refused request, so mostly the last one is changed.
    const changedAt = random.chance(0.75) ? random.pick([texts.length - 1, random.below(texts.length)]) : -1;
    const bytes = texts
      .map((text, index) => (index === changedAt ? mutate(text, random, marks) : text))
      .join('');
    const steps = split(bytes, random).map((send) => sendStep(on, send, random));
    const close = pickClose(random);
    // Without its last bytes, a request is unfinished. The client stays, so it sees the answer after the time limit.
    if (close === 'stay') steps.pop();
    return close === undefined ? steps : [...steps, { on, close }];
  });
  return { fuzzCase: { steps: interleave(queues, random) }, requestCount };
}

function sendStep(on: number, send: string, random: SeededRandom): Step {
  return random.chance(0.15) ? { on, send, sync: true } : { on, send };
}

function pickClose(random: SeededRandom): 'reset' | 'stay' | undefined {
  if (random.chance(0.05)) return 'reset';
  return random.chance(0.004) ? 'stay' : undefined;
}

/**
 * Splits the bytes in one of four ways: not at all, at a few places, near the line ends, or at 20 neighbouring places.
 */
function split(bytes: string, random: SeededRandom): readonly string[] {
  const way = random.below(10);
  if (way < 4) return [bytes];
  let cuts: number[];
  if (way < 8) cuts = Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length + 1));
  else if (way < 9)
    cuts = [...bytes.matchAll(/\r\n/g)].map(({ index }) => index + random.below(3)).slice(0, 40);
  else {
    const start = random.below(bytes.length + 1);
    cuts = Array.from({ length: 20 }, (_, index) => start + index);
  }
  const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return places.flatMap((place, index) => {
    const piece = bytes.slice(place, places[index + 1] ?? place);
    return piece === '' ? [] : [piece];
  });
}

/** Mixes the steps of the connections. The steps of one connection keep their order. */
function interleave(queues: readonly Step[][], random: SeededRandom): Step[] {
  const steps: Step[] = [];
  let waiting = queues.filter((queue) => queue.length > 0);
  while (waiting.length > 0) {
    const step = random.pick(waiting).shift();
    if (step !== undefined) steps.push(step);
    waiting = waiting.filter((queue) => queue.length > 0);
  }
  return steps;
}
