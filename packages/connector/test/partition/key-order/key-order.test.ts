import { describe } from 'vitest'
import { inSimulation } from '../../support/behaviour-scene.ts'
import { testKeyOrder } from './key-order-behaviour.ts'

describe('orderingMode KEY on a simulated cluster', () => testKeyOrder(inSimulation))
