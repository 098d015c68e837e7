import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './connector-simulation.ts'

describe('a simulated connector keeps its invariants, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 750, deadlineMs: 600_000 })
})
