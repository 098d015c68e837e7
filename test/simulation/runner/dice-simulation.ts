/** A trivial simulation that tests the runner: the seed alone decides what happens. */

import type { SeedReport, Simulation } from '../simulation.ts'
import { isAllowed } from './dice-rule.ts'

/** Breaks a rule. */
export const brokenSeed = 13
/** Never completes. */
export const stuckSeed = 66
/** Takes a while, and makes progress. */
export const slowSeed = 88
/** Ends its process. */
export const crashingSeed = 77
/** Differs on every run. */
export const moodySeed = 300

const rule = 'test/simulation/runner/dice-rule.ts'
let runs = 0

/** The simulation. */
export const simulation: Simulation = {
  name: 'dice',
  module: import.meta.url,
  goals: ['even', 'odd', 'never'],
  seedFile: null,
  mutants: [
    { name: 'all-broken', breaks: 'Nothing is allowed.', file: rule, find: 'seed !== 13', replace: 'false', seed: 1 },
    { name: 'harmless', breaks: 'Nothing.', file: rule, find: 'seed !== 13', replace: 'seed != 13', seed: 1 },
    { name: 'gone', breaks: 'Nothing.', file: rule, find: 'no such text', replace: '', seed: 1 },
    { name: 'elsewhere', breaks: 'Nothing.', file: 'test/simulation/draw.ts', find: 'x', replace: 'y', seed: 1 },
  ],
  async run(seed, { trace } = {}): Promise<SeedReport> {
    while (seed === stuckSeed);
    if (seed === slowSeed) await dawdle()
    if (seed === crashingSeed) await crash()
    trace?.(`rolled ${seed}`)
    return {
      seed,
      violations: isAllowed(seed) ? [] : [{ invariant: 'LUCK', what: `${seed} was rolled` }],
      traceHash: seed === moodySeed ? `${++runs}` : `${seed}`,
      events: 10 + seed,
      elapsedMs: 1_000,
      faults: new Map([['SHAKE', 2]]),
      rareStates: new Map([[seed % 2 === 0 ? 'even' : 'odd', 1]]),
    }
  },
}

/** Computes for longer than a seed may be silent, in small steps. */
async function dawdle(): Promise<void> {
  for (const endsAt = performance.now() + 1_000; performance.now() < endsAt; ) await new Promise(setImmediate)
}

/** Crashes as an unhandled rejection does. */
function crash(): Promise<never> {
  void Promise.reject(new Error('out of luck'))
  return new Promise(() => {})
}
