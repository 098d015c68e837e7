import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './operation-simulation.ts'

describe('simulated operations keep their promises, and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 150, deadlineMs: 600_000 })
})
