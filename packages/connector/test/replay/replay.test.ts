import { describe } from 'vitest'
import { inSimulation } from '../support/behaviour-scene.ts'
import { testReplay } from './replay-behaviour.ts'

describe('DltReplay', () => {
  describe('dead letters on a simulated cluster', () => testReplay(inSimulation))
})
