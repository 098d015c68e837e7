import { describe, expect, test } from 'vitest'
import { createFencedAppender } from '../../../src/client/producer/fenced-appender.ts'
import { testFencedAppender } from './fenced-appender-behaviour.ts'
import { textRecord } from './producer-behaviour.ts'
import { runInSimulation, runOnSystemClock } from './world.ts'

describe('a fenced appender on a simulated cluster in virtual time', () => {
  testFencedAppender((program) => runInSimulation(program))
})

describe('a fenced appender on a simulated cluster', () => {
  testFencedAppender(runOnSystemClock)
})

describe('a fenced appender whose time is over', () => {
  test('fails unsent records in order, and continues without a new epoch', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      const options = { deliveryTimeoutMs: 3_000, requestTimeoutMs: 1_000 }
      await using appender = await createFencedAppender(world.client(), 'owner', options)
      await appender.append(textRecord(topic, 'first', 0))
      sim.killBroker(1)
      const outcomes: string[] = []
      const append = (value: string) =>
        appender
          .append(textRecord(topic, value, 0))
          .catch(({ kind }: { kind: string }) => outcomes.push(`${value} ${kind}`))
      const early = append('early')
      await world.runtime.timers.sleep(2_000)
      const late = append('late')
      await Promise.all([early, late])
      expect(outcomes).toEqual(['early RETRIABLE', 'late RETRIABLE'])
      sim.restartBroker(1)
      await appender.append(textRecord(topic, 'next', 0))
      expect((await world.readLog(topic, 0)).map(({ value }) => value)).toEqual(['first', 'next'])
    }))
})
