import type { FuzzCase, Step } from './fuzz-case.ts';
import { makeRequest, type Marks } from './make-request.ts';
import { mutate } from './mutate.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';

const MAX_CONNECTIONS = 4;
const MAX_PIPELINED = 6;

/** The case with this number of this seed, and how many requests it was made from. */
export function makeCase(
  seed: number,
  number: number,
): { readonly fuzzCase: FuzzCase; readonly requests: number } {
  const random = new SeededRandom(seed, number);
  let count = 0;
  const marks: Marks = { next: () => `f${number.toString(36)}-${(count++).toString(36)}` };
  let requests = 0;
  const queues = Array.from({ length: 1 + random.below(MAX_CONNECTIONS) }, (_, on) => {
    const texts = Array.from({ length: 1 + random.below(MAX_PIPELINED) }, () => makeRequest(random, marks));
    requests += texts.length;
    // Nothing follows what a server refuses, so mostly the last request is changed.
    const changed = random.chance(0.75) ? random.pick([texts.length - 1, random.below(texts.length)]) : -1;
    const bytes = texts
      .map((text, index) => (index === changed ? mutate(text, random, marks) : text))
      .join('');
    const sends = split(bytes, random).map((send) => sendStep(on, send, random));
    const close = closing(random);
    // An unfinished request meets its time limit.
    if (close === 'stay') sends.pop();
    return close === undefined ? sends : [...sends, { on, close }];
  });
  return { fuzzCase: { steps: interleave(queues, random) }, requests };
}

function sendStep(on: number, send: string, random: SeededRandom): Step {
  return random.chance(0.15) ? { on, send, sync: true } : { on, send };
}

function closing(random: SeededRandom): 'reset' | 'stay' | undefined {
  if (random.chance(0.05)) return 'reset';
  return random.chance(0.004) ? 'stay' : undefined;
}

/** In one piece, in a few pieces, at every line, or byte by byte around one place. */
function split(bytes: string, random: SeededRandom): readonly string[] {
  const way = random.below(10);
  if (way < 4) return [bytes];
  let cuts: number[];
  if (way < 8) cuts = Array.from({ length: 1 + random.below(6) }, () => random.below(bytes.length + 1));
  else if (way < 9)
    cuts = [...bytes.matchAll(/\r\n/g)].map(({ index }) => index + random.below(3)).slice(0, 40);
  else {
    const from = random.below(bytes.length + 1);
    cuts = Array.from({ length: 20 }, (_, index) => from + index);
  }
  const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
  return places.flatMap((place, index) => {
    const piece = bytes.slice(place, places[index + 1] ?? place);
    return piece === '' ? [] : [piece];
  });
}

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
