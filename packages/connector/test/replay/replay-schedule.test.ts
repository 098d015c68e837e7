import { Buffer } from 'node:buffer'
import { NonRetryableError } from '@waybill/core'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { DeadLetterDecision, DeadLetterRecord } from '../../src/api/dead-letter-types.ts'
import { replayableAt } from '../../src/replay/replayable-at.ts'
import { committedOffsets, topicRecords, topicValues } from '../delivery/topic-records.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const minute = 60_000

/** Returns a binding that fails permanently for every value that starts with x. */
function bindingOf(dlt: Binding['dlt'], handled: string[] = []): Binding {
  return {
    topic: 'orders',
    groupId: 'shipping',
    retry: { tier0: { maxAttempts: 1 } },
    handler: ({ value }) => {
      handled.push(String(value))
      if (String(value).startsWith('x')) throw new NonRetryableError('no')
    },
    ...(dlt === undefined ? {} : { dlt }),
  }
}

const copiesIn = ({ sim }: ConnectorWorld): number =>
  topicRecords(sim, 'orders').filter((record) => record.headers.text('x-eventbus-replay-count') !== undefined).length

const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `x${at}`)

describe('S0-138 SCHEDULED_REPLAY', () => {
  test('replays each dead letter after the cooldown, and at most maxReplays times', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep, eventually } = world
      sim.createTopic('orders')
      const replay = { cooldownMs: 5 * minute }
      await connector({ bindings: { shipping: bindingOf({ strategy: 'SCHEDULED_REPLAY', replay }) } }).start()
      await write('orders', ['x1', 'ok'])
      await sleep(4 * minute)
      expect(copiesIn(world)).toBe(0)
      await sleep(3 * minute)
      expect(copiesIn(world)).toBe(1)
      await sleep(30 * minute)
      await eventually(() => expect(topicValues(sim, 'orders.DLT')).toHaveLength(4))
      const counts = topicRecords(sim, 'orders.DLT').map(({ headers }) => headers.text('x-eventbus-replay-count'))
      expect(counts).toEqual([undefined, '1', '2', '3'])
      expect(copiesIn(world)).toBe(3)
    }))

  test('replays one batch per run, and commits the position in the replay group', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep } = world
      sim.createTopic('orders')
      const replay = { cooldownMs: 0, batchSize: 4, intervalMs: 10 * minute, maxReplays: 1 }
      await connector({ bindings: { shipping: bindingOf({ strategy: 'SCHEDULED_REPLAY', replay }) } }).start()
      await write('orders', numbered(10))
      await sleep(10 * minute)
      expect(copiesIn(world)).toBe(4)
      expect(committedOffsets(sim, 'shipping-dlt-replay', 'orders.DLT')).toEqual({ 0: 4n })
      await sleep(10 * minute)
      expect(copiesIn(world)).toBe(8)
      await sleep(30 * minute)
      expect(copiesIn(world)).toBe(10)
    }))

  test('C-79 replays each dead letter in one of several instances', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep } = world
      sim.createTopic('orders', { partitions: 3 })
      const dlt: Binding['dlt'] = { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: 1_000, maxReplays: 1 } }
      for (let instance = 0; instance < 3; instance++)
        await connector({ bindings: { shipping: bindingOf(dlt) }, instance: `host-${instance}` }).start()
      for (const partition of [0, 1, 2]) await write('orders', numbered(20), partition)
      await sleep(10 * minute)
      const copies = topicRecords(sim, 'orders', 3).filter(({ headers }) => headers.text('x-eventbus-replay-count'))
      expect(copies).toHaveLength(60)
    }))

  test('replays nothing while the binding is paused', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep } = world
      sim.createTopic('orders')
      const dlt: Binding['dlt'] = { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: 5 * minute } }
      const bus = connector({ bindings: { shipping: bindingOf(dlt) } })
      await bus.start()
      await write('orders', ['x1'])
      await sleep(minute)
      await bus.pause('shipping')
      await sleep(20 * minute)
      expect(copiesIn(world)).toBe(0)
      await bus.resume('shipping')
      await sleep(2 * minute)
      expect(copiesIn(world)).toBe(1)
    }))

  test('continues by itself after an outage of the brokers', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep } = world
      sim.createTopic('orders')
      const dlt: Binding['dlt'] = { strategy: 'SCHEDULED_REPLAY', replay: { cooldownMs: 5 * minute, maxReplays: 1 } }
      await connector({ bindings: { shipping: bindingOf(dlt) } }).start()
      await write('orders', ['x1'])
      await sleep(minute)
      sim.killBroker(1)
      await sleep(10 * minute)
      sim.restartBroker(1)
      await sleep(10 * minute)
      expect(copiesIn(world)).toBe(1)
    }))

  test('is not blocked by a dead letter with a timestamp in the far future', () =>
    connectorWorld(async (world) => {
      const { sim, client, connector, write, sleep } = world
      sim.createTopic('orders')
      const dlt: Binding['dlt'] = { strategy: 'SCHEDULED_REPLAY', replay: { maxReplays: 1, cooldownMs: 5 * minute } }
      await connector({ bindings: { shipping: bindingOf(dlt) } }).start()
      await using producer = client.producer('EVENT')
      const headers = [['x-eventbus-dlt-timestamp', Buffer.from(String(Date.UTC(2999, 0)))]] as const
      await producer.send({ topic: 'orders.DLT', key: null, value: Buffer.from('x0'), headers })
      await write('orders', ['x1'])
      await sleep(15 * minute)
      expect(copiesIn(world)).toBe(2)
    }))

  test.each([
    ['that has just died is due after the cooldown', 1_000, 1_000, 11_000],
    ['that has lain for long is due', 1_000, 50_000, 11_000],
    ['of a clock that is ahead a little waits a little longer', 12_000, 10_000, 22_000],
    ['from a future that no clock is ahead by is due', 25_000, 10_000, 10_000],
  ])('a dead letter %s', (_, deadAtMs, nowMs, due) => expect(replayableAt(deadAtMs, 10_000, nowMs)).toBe(due))
})

/** Returns a dead letter handler that records its calls. */
const handlerOf = (decide: (letter: DeadLetterRecord) => DeadLetterDecision | void) => {
  const asked: string[] = []
  return {
    asked,
    recordHandler: {
      handle(letter: DeadLetterRecord) {
        asked.push(String(letter.value))
        return decide(letter)
      },
    },
  }
}

describe('S0-139 CUSTOM', () => {
  test('calls the handler once for each dead letter, and replays those it selects', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep } = world
      sim.createTopic('orders')
      const { asked, recordHandler } = handlerOf(({ value }) => (String(value) === 'x2' ? 'REPLAY' : undefined))
      const dlt: Binding['dlt'] = { strategy: 'CUSTOM', recordHandler, replay: { maxReplays: 1 } }
      await connector({ bindings: { shipping: bindingOf(dlt) } }).start()
      await write('orders', ['x1', 'x2', 'x3'])
      await sleep(10 * minute)
      // The replayed record fails again, and is another dead letter.
      expect(asked).toEqual(['x1', 'x2', 'x3', 'x2'])
      expect(copiesIn(world)).toBe(1)
    }))

  test('retries a handler that fails for a dead letter, then skips it and continues with the next', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep, logger } = world
      sim.createTopic('orders')
      const { asked, recordHandler } = handlerOf(({ value }) => {
        if (String(value) === 'x1') throw new Error('not now')
      })
      const dlt: Binding['dlt'] = { strategy: 'CUSTOM', recordHandler }
      await connector({ bindings: { shipping: bindingOf(dlt) } }).start()
      await write('orders', ['x1', 'x2'])
      await sleep(10 * minute)
      expect(asked).toEqual(['x1', 'x1', 'x1', 'x2'])
      expect(logger.lines.filter(({ text }) => text === 'Dead letter handler failed')).toHaveLength(3)
      expect(topicValues(sim, 'orders.DLT')).toEqual(['x1', 'x2'])
    }))

  test('counts the failures of a handler for each dead letter anew', () =>
    connectorWorld(async ({ sim, connector, write, sleep }) => {
      sim.createTopic('orders')
      const { asked, recordHandler } = handlerOf(() => {
        throw new Error('not now')
      })
      await connector({ bindings: { shipping: bindingOf({ strategy: 'CUSTOM', recordHandler }) } }).start()
      await write('orders', ['x1', 'x2'])
      await sleep(10 * minute)
      expect(asked).toEqual(['x1', 'x1', 'x1', 'x2', 'x2', 'x2'])
    }))

  test('a stop ends after the current call of the handler, and leaves the other dead letters for the next run', () =>
    connectorWorld(async ({ sim, connector, write, sleep, runtime, eventually }) => {
      sim.createTopic('orders')
      const { asked, recordHandler } = handlerOf(() => {})
      const slow = {
        async handle(letter: DeadLetterRecord) {
          recordHandler.handle(letter)
          await runtime.timers.sleep(10_000)
        },
      }
      const bus = connector({ bindings: { shipping: bindingOf({ strategy: 'CUSTOM', recordHandler: slow }) } })
      await bus.start()
      await write('orders', ['x1', 'x2', 'x3'])
      await eventually(() => expect(asked).toEqual(['x1']))
      await bus.stop({ deadlineMs: 25_000 })
      await sleep(30_000)
      expect(asked).toEqual(['x1'])
      expect(committedOffsets(sim, 'shipping-dlt-replay', 'orders.DLT')).toEqual({ 0: 1n })
    }))

  test('a stop does not wait for a handler longer than its deadline', () =>
    connectorWorld(async (world) => {
      const { sim, connector, write, sleep, runtime } = world
      sim.createTopic('orders')
      const recordHandler = { handle: () => new Promise<void>(() => {}) }
      const bus = connector({ bindings: { shipping: bindingOf({ strategy: 'CUSTOM', recordHandler }) } })
      await bus.start()
      await write('orders', ['x1'])
      await sleep(3 * minute)
      const before = runtime.clock.now()
      await bus.stop({ deadlineMs: 5_000 })
      expect(runtime.clock.now() - before).toBeLessThanOrEqual(5_000)
    }))
})
