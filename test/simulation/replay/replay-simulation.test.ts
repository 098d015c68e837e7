import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './replay-simulation.ts'

describe('simulated replays keep their invariants, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 200, deadlineMs: 600_000 })
})
