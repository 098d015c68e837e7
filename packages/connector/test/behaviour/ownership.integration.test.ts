import { createKafkaClient, type KafkaRecord } from '@waybill/kafka'
import { describeWith } from '@waybill/test-support'
import { eventually } from '@waybill/testkit'
import { expect, test } from 'vitest'
import type { DeliveryContext } from '../../src/api/handler-types.ts'
import { committedOf, endOf, placeOf, startOne, write } from '../support/kafka-world.ts'

const soon = { deadlineMs: 60_000, everyMs: 100 }
const valueOf = (record: KafkaRecord): string => record.value?.toString() ?? ''
const numbers = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index}`)

/** Stops this thread without using it up. */
function blockEventLoop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

describeWith('kafka')('partitions on Apache Kafka that change their owner', ({ kafka }) => {
  test.each(['PARTITION', 'KEY', 'UNORDERED'] as const)(
    'L5 clean stops and restarts repeat nothing and forget nothing, with %s',
    async (parallelism) => {
      await using client = createKafkaClient({ brokers: kafka.bootstrap })
      const plain = await placeOf(kafka, `clean-${parallelism}`, 2)
      const handled: string[] = []
      const handler = async (record: KafkaRecord): Promise<void> => {
        await new Promise(setImmediate)
        handled.push(`${record.partition} ${valueOf(record)}`)
      }
      for (let round = 0; round < 3; round++) {
        await using connector = await startOne(client, { ...plain, parallelism, ackMode: 'MANUAL', handler })
        await write(client, plain.topic, numbers(100), round % 2)
        const before = handled.length
        await eventually(() => expect(handled.length).toBeGreaterThan(before), soon)
        await connector.stop()
      }
      await using _ = await startOne(client, { ...plain, parallelism, handler })
      await eventually(
        async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 200n, 1: 100n }),
        soon,
      )
      expect(handled).toHaveLength(300)
    },
  )

  test('a restart does not repeat what was settled above the commit', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'settled-above')
    const handled: string[] = []
    const binding = {
      ...plain,
      parallelism: 'UNORDERED' as const,
      handler: async (record: KafkaRecord, { signal }: DeliveryContext): Promise<void> => {
        handled.push(valueOf(record))
        if (handled.length > 10 || valueOf(record) !== '3') return
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('no time'))))
      },
    }
    const first = await startOne(client, binding)
    await write(client, plain.topic, numbers(10))
    await eventually(async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 3n }), soon)
    await eventually(() => expect(handled).toHaveLength(10), soon)
    await first.stop({ deadlineMs: 2_000 })
    await using _ = await startOne(client, binding)
    await eventually(
      async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 10n }),
      soon,
    )
    expect(handled).toEqual([...numbers(10), '3'])
  })

  test('S0-154 a rebalance while records are retried loses none and decides each one once', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    await using otherClient = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'rebalanced', 4)
    const succeeded = new Set<string>()
    const binding = {
      ...plain,
      heartbeatIntervalMs: 1_000,
      retry: { tier0: { maxAttempts: 3, initialBackoffMs: 50 }, tiers: [{ delayMs: 200 }] },
      handler: (record: KafkaRecord, { tier }: DeliveryContext): void => {
        if (tier === 0 && Number(valueOf(record)) % 5 === 0) throw new Error('not yet')
        succeeded.add(valueOf(record))
      },
    }
    await using first = await startOne(client, binding)
    for (let partition = 0; partition < 4; partition++)
      await write(
        client,
        plain.topic,
        numbers(25).map((value) => `${partition * 25 + Number(value)}`),
        partition,
      )
    const second = await startOne(otherClient, binding)
    await eventually(
      () => expect(second.listBindings()[0]?.containers[0]?.members[0]?.partitions).toHaveLength(2),
      soon,
    )
    await second.stop()
    await eventually(() => expect(succeeded.size).toBe(100), soon)
    await first.stop('shipping')
    const rows = await first.audit()
    expect(rows.filter(({ problem, missing }) => problem !== undefined || missing > 0n)).toEqual([])
    const settled = rows
      .filter(({ topic }) => topic === plain.topic)
      .map(({ ok, retried, dead }) => ok + retried + dead)
    expect(settled).toEqual([25n, 25n, 25n, 25n])
    expect(await endOf(client, `${plain.topic}.DLT`)).toBe(0n)
  })

  test('a handler that blocks the event loop for longer than its session costs a repeat at most', async () => {
    await using client = createKafkaClient({ brokers: kafka.bootstrap })
    const plain = await placeOf(kafka, 'frozen', 2)
    const handled: string[] = []
    let isFirst = true
    const handler = (record: KafkaRecord): void => {
      if (valueOf(record) === 'freeze' && isFirst) {
        isFirst = false
        blockEventLoop(11_000)
      }
      handled.push(valueOf(record))
    }
    await using connector = await startOne(client, {
      ...plain,
      sessionTimeoutMs: 10_000,
      heartbeatIntervalMs: 3_000,
      handler,
    })
    await write(client, plain.topic, ['a', 'freeze', 'b'], 0)
    await write(client, plain.topic, ['c', 'd'], 1)
    await eventually(
      async () => expect(await committedOf(client, plain.groupId, plain.topic)).toEqual({ 0: 3n, 1: 2n }),
      soon,
    )
    expect(new Set(handled)).toEqual(new Set(['a', 'freeze', 'b', 'c', 'd']))
    expect(handled.filter((value) => value === 'a')).toHaveLength(1)
    await write(client, plain.topic, ['e'], 0)
    await eventually(() => expect(handled.at(-1)).toBe('e'), soon)
    expect(connector.health().reasons).toEqual([])
  }, 90_000)
})
