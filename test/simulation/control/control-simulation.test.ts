import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './control-simulation.ts'

describe('simulated fleets agree on what is desired, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 100, deadlineMs: 600_000 })
})
