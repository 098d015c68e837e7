import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './outbox-simulation.ts'

describe('a simulated outbox keeps its invariants, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 800, deadlineMs: 600_000 })
})
