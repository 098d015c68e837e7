import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './projection-simulation.ts'

describe('simulated projections keep their invariants, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 150, deadlineMs: 240_000 })
})
