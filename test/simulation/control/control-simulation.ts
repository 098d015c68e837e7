import type { Simulation } from '../simulation.ts'
import { controlMutants, seedFile } from './mutants.ts'
import { rareStates } from './rare-states.ts'
import { runControlSeed } from './run-seed.ts'

/** Instances that follow one log, while they die, freeze, lose answers, and have clocks that differ. */
export const simulation: Simulation = {
  name: 'control',
  module: import.meta.url,
  goals: rareStates,
  mutants: controlMutants,
  seedFile,
  run: runControlSeed,
}
