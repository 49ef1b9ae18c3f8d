import { numbers } from '../../test/support/numbers.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { callersOf } from './pets-on-mongodb.ts';
import { ReplicaSet } from './replica-set.ts';
import type { Scenario } from './run-schedule.ts';

/**
 * Two services add a pet each and read, while the primary changes once. Small enough to play every schedule: see
 * `exhaust`. The election comes last, unless a choice takes it earlier.
 */
export const twoServices: Pick<Scenario, 'name' | 'flaws' | 'begin'> = {
  name: 'two-services',
  flaws: ['loses-commits', 'acknowledges-early', 'hides-elections'],
  begin(simulation, flaw) {
    simulation.calm();
    const set = new ReplicaSet(simulation, flaw);
    const clients = numbers(2).map(() => new MongoClientModel(set));
    const callers = callersOf(simulation, set, clients, undefined);
    void callers.addAndRead();
    set.electOnce();
    return () => callers.verify();
  },
};
