/** Bugs of the control of a fleet, planted in ours one at a time. Each has a recorded seed that shows it. */

import { join } from 'node:path'
import type { Mutant } from '../simulation.ts'
import { type PlantedBug, withRecordedSeeds } from '../world/recorded-seeds.ts'

const fleet = 'packages/connector/src/fleet'

const bugs: readonly PlantedBug[] = [
  {
    name: 'missed-commands-not-obeyed',
    breaks: 'An instance that missed a command keeps its state.',
    file: `${fleet}/own-instance.ts`,
    find: 'if (desired.open !== undefined) continue',
    replace: 'if (desired.open === undefined) continue',
  },
  {
    name: 'refused-commands-count',
    breaks: 'A command that all instances refused is desired.',
    file: `${fleet}/fleet-state.ts`,
    find: "if (isOver || isComplete) return answers.size === 0 ? 'COUNTS' : 'REFUSED'",
    replace: "if (isOver || isComplete) return 'COUNTS'",
  },
  {
    name: 'old-commands-applied',
    breaks: 'An instance applies commands from before its start.',
    file: `${fleet}/fleet-control-engine.ts`,
    find: "if (entry.kind !== 'COMMAND' || !own.isPresent(state)) return",
    replace: "if (entry.kind !== 'COMMAND') return",
  },
  {
    name: 'silence-taken-for-consent',
    breaks: 'An instance that did not answer is said to have followed.',
    file: `${fleet}/fleet-members.ts`,
    find: "outcome: 'NO_ANSWER',",
    replace: "outcome: 'APPLIED',",
  },
]

/** The seeds that find the mutants. `npm run sim -- control --record` updates them when timing has changed. */
export const seedFile: string = join(import.meta.dirname, 'recorded-seeds.json')

/** All mutants of the control of a fleet. */
export const controlMutants: readonly Mutant[] = withRecordedSeeds(bugs, seedFile)
