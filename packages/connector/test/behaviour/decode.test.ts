import { describe } from 'vitest'
import { inSimulation } from '../support/behaviour-scene.ts'
import { testDecode } from './decode-behaviour.ts'

describe('decode on a simulated cluster', () => {
  testDecode(inSimulation)
})
