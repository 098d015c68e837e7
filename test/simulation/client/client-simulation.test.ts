import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './client-simulation.ts'

describe('a simulated client keeps its invariants, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 1_000, deadlineMs: 600_000 })
})
