import { describe } from 'vitest'
import { describeSimulation } from '../world/simulation-suite.ts'
import { simulation } from './transaction-simulation.ts'

describe('I13 simulated transactional bindings write exactly f(input), and planted bugs are found', () => {
  describeSimulation(simulation, { seeds: 250, deadlineMs: 600_000 })
})
