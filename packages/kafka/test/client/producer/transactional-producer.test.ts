import { describe, expect, test } from 'vitest'
import { createTransactionalProducer } from '../../../src/client/producer/transactional-producer.ts'
import { sorted, textRecord } from './producer-behaviour.ts'
import { testTransactionalProducer } from './transactional-behaviour.ts'
import { runInSimulation, runOnSystemClock } from './world.ts'

describe('a transactional producer on a simulated cluster in virtual time', () => {
  testTransactionalProducer((program) => runInSimulation(program))
})

describe('a transactional producer on a simulated cluster', () => {
  testTransactionalProducer(runOnSystemClock)
})

describe('a transaction on a cluster that changes', () => {
  test('continues when its coordinator moves', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(1)
        await using producer = createTransactionalProducer(world.client(), 'tx')
        for (let round = 0; round < 6; round++) {
          await producer.begin()
          sim.moveCoordinator('TRANSACTION', 'tx', 1 + (round % 3))
          await producer.send(textRecord(topic, `${round}`))
          sim.moveCoordinator('TRANSACTION', 'tx', 1 + ((round + 1) % 3))
          await producer.commit()
        }
        await world.runtime.timers.sleep(100)
        const values = (await world.readLog(topic, 0, 'READ_COMMITTED')).map(({ value }) => value)
        expect(values).toEqual(['0', '1', '2', '3', '4', '5'])
      },
      { brokers: 3 },
    ))

  test('continues when the node of its coordinator dies', () =>
    runInSimulation(
      async (world, sim) => {
        const topic = await world.createTopic(1)
        sim.moveLeader(topic, 0, 1)
        sim.moveCoordinator('TRANSACTION', 'tx', 2)
        await using producer = createTransactionalProducer(world.client(), 'tx')
        await producer.begin()
        await producer.send(textRecord(topic, 'first'))
        sim.killBroker(2)
        await producer.commit()
        await producer.begin()
        await producer.send(textRecord(topic, 'second'))
        await producer.commit()
        await world.runtime.timers.sleep(1_000)
        const values = (await world.readLog(topic, 0, 'READ_COMMITTED')).map(({ value }) => value)
        expect(values).toEqual(['first', 'second'])
      },
      { brokers: 3 },
    ))

  test('does not know its end when the coordinator only says that it may have moved', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      const bounds = { deliveryTimeoutMs: 3_000, requestTimeoutMs: 1_000 }
      const producer = createTransactionalProducer(world.client(), 'tx', bounds)
      await producer.begin()
      await producer.send(textRecord(topic, 'committed'))
      sim.setFaults({ rates: { EndTxn: { lateError: 1 } } })
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'UNKNOWN' })
      sim.setFaults(false)
      await producer.close()
      await world.runtime.timers.sleep(1_000)
      expect(await world.readLog(topic, 0, 'READ_COMMITTED')).toHaveLength(1)
    }))

  test.each([11, 12, 13, 14, 15, 16, 17, 18])(
    'shows all of what was committed once, and nothing else (seed %i)',
    (seed) =>
      runInSimulation(
        async (world, sim) => {
          const topic = await world.createTopic(2)
          const expected: string[] = []
          const doubtful: string[] = []
          sim.setFaults({
            rates: { '*': { error: 0.08, lateError: 0.05, lostResponse: 0.08, deadConnection: 0.05, delay: 0.05 } },
            maxDelayMs: 9_000,
          })
          let producer = createTransactionalProducer(world.client(), 'tx', { retryBackoffMs: 20 })
          for (let round = 0; round < 25; round++) {
            const values = [`${round} a`, `${round} b`, `${round} c`]
            try {
              await producer.begin()
              await Promise.all(values.map((value, index) => producer.send(textRecord(topic, value, index % 2))))
              await producer.commit()
              expected.push(...values)
            } catch (error) {
              const { kind } = error as { kind: string }
              if (kind === 'UNKNOWN') doubtful.push(...values)
              if (kind === 'ABORTABLE') await producer.abort().catch(() => {})
              else {
                await producer.close()
                producer = createTransactionalProducer(world.client(), 'tx', { retryBackoffMs: 20 })
              }
            }
          }
          sim.setFaults(false)
          await producer.close()
          // The open transaction of a producer that was given up ends with the next incarnation.
          await using last = createTransactionalProducer(world.client(), 'tx')
          await last.begin()
          await last.send(textRecord(topic, 'last', 0))
          await last.commit()
          await world.runtime.timers.sleep(1_000)
          const logs = [0, 1].map((partition) => world.readLog(topic, partition, 'READ_COMMITTED'))
          const values = (await Promise.all(logs)).flat().map(({ value }) => value ?? '')
          expect(new Set(values).size).toBe(values.length)
          expect(sorted(values.filter((value) => !doubtful.includes(value)))).toEqual(sorted([...expected, 'last']))
          for (const one of doubtful) {
            const [round = ''] = one.split(' ')
            const seen = values.filter((value) => value.startsWith(`${round} `)).length
            expect([0, 3]).toContain(seen)
          }
        },
        { seed, brokers: 3 },
      ),
  )
})

describe('an abort while a send is in flight', () => {
  test('leaves nothing behind for the next transaction', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      await using producer = createTransactionalProducer(world.client(), 'tx', { requestTimeoutMs: 1_000 })
      await producer.begin()
      await producer.send(textRecord(topic, 'first'))
      const held = sim.stall({ api: 'Produce' })
      const inFlight = producer.send(textRecord(topic, 'in flight'))
      await world.runtime.timers.sleep(10)
      const aborting = producer.abort()
      await expect(inFlight).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await aborting
      await producer.begin()
      const next = producer.send(textRecord(topic, 'next'))
      await world.runtime.timers.sleep(10)
      held[Symbol.dispose]()
      await next
      await producer.commit()
      await world.runtime.timers.sleep(1_000)
      const values = (await world.readLog(topic, 0, 'READ_COMMITTED')).map(({ value }) => value)
      expect(values).toEqual(['next'])
    }))
})

describe('a send of a transaction that finds no way in time', () => {
  test('fails the whole', () =>
    runInSimulation(async (world, sim) => {
      const topic = await world.createTopic(1)
      const bounds = { deliveryTimeoutMs: 3_000, requestTimeoutMs: 1_000 }
      const producer = createTransactionalProducer(world.client(), 'tx', bounds)
      await producer.begin()
      await producer.send(textRecord(topic, 'first'))
      const held = sim.stall({ api: 'Produce' })
      const late = producer.send(textRecord(topic, 'late'))
      await expect(late).rejects.toMatchObject({ kind: 'ABORTABLE' })
      held[Symbol.dispose]()
      await expect(producer.commit()).rejects.toMatchObject({ kind: 'ABORTABLE' })
      await producer.begin()
      await producer.send(textRecord(topic, 'next'))
      await producer.commit()
      await producer.close()
      await world.runtime.timers.sleep(1_000)
      const values = (await world.readLog(topic, 0, 'READ_COMMITTED')).map(({ value }) => value)
      expect(values).toEqual(['next'])
    }))
})
