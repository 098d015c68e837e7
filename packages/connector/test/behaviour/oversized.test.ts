import { describe } from 'vitest'
import { inSimulation } from '../support/behaviour-scene.ts'
import { testOversizedBatches } from './oversized-behaviour.ts'

describe('maxBatchBytes on a simulated cluster', () => {
  testOversizedBatches((program) => inSimulation(program))
})
