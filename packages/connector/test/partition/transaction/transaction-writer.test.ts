import { Buffer } from 'node:buffer'
import { createKafkaClient, KafkaError, type TransactionalProducer } from '@waybill/kafka'
import { type KafkaErrorKind } from '@waybill/kafka/internal'
import { createSimCluster, createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { type Transaction, TransactionWriter } from '../../../src/partition/transaction/transaction-writer.ts'
import { troubledTransport } from './troubled-transport.ts'

const at = { topic: 'orders', partition: 0 }
const error = (kind: KafkaErrorKind, cause?: Error) => new KafkaError(`it is ${kind}`, kind, { cause })
const transaction: Transaction = {
  parts: [[{ topic: 'out', key: null, value: Buffer.from('a') }], []],
  offset: { ...at, epoch: 1, offset: 2n, metadata: 'm' },
}

const ofOneRecord: Transaction = { ...transaction, parts: transaction.parts.slice(0, 1) }

type Step = 'begin' | 'send' | 'sendOffsets' | 'commit' | 'abort'

/** A writer over producers that fail as they are told, each step once for each failure. */
function scene({ isMember = true } = {}) {
  const committed = 0n
  const runtime = createVirtualRuntime(1)
  const steps: string[] = []
  const troubles: string[] = []
  const failures = new Map<Step, Error[]>()
  const state = { committed: committed as bigint, isMember, producers: 0 }
  const step = (name: Step, producer: number): Promise<void> => {
    steps.push(`${name} ${producer}`)
    const failure = failures.get(name)?.shift()
    return failure === undefined ? Promise.resolve() : Promise.reject(failure)
  }
  const createProducer = (): TransactionalProducer => {
    const own = ++state.producers
    return {
      begin: () => step('begin', own),
      send: async () => {
        await step('send', own)
        return { partition: 0, offset: 0n }
      },
      sendOffsets: () => step('sendOffsets', own),
      commit: () => step('commit', own),
      abort: () => step('abort', own),
      flush: () => Promise.resolve(),
      close: async () => void steps.push(`close ${own}`),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }
  }
  const writer = new TransactionWriter(
    {
      at,
      runtime,
      consumer: {
        committed: async () => [{ ...at, offset: state.committed, metadata: null }],
        groupMetadata: () => ({ groupId: 'g', generationId: 1, memberId: 'm', instanceId: null }),
        confirmMembership: async () => {
          steps.push('confirm')
          return state.isMember
        },
      },
      createProducer,
      troubled: ({ message }) => void troubles.push(message),
    },
    committed,
  )
  const fail = (name: Step, ...list: Error[]): void => void failures.set(name, list)
  return { runtime, writer, steps, troubles, state, fail }
}

const whole = (producer: number): string[] => [
  `begin ${producer}`,
  `send ${producer}`,
  `sendOffsets ${producer}`,
  `commit ${producer}`,
]

describe('a transaction', () => {
  test('L1 that fails again and again is given back to be written in parts, when its last end is known', async () => {
    const { runtime, writer, steps, fail } = scene()
    fail('send', error('RETRIABLE'), error('RETRIABLE'), error('FENCED'))
    await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'TOO_MUCH' }))
    expect(steps.filter((step) => step.startsWith('send '))).toHaveLength(3)
    expect(steps.slice(-4)).toEqual(['close 1', 'confirm', 'begin 2', 'abort 2'])
  })

  test('of one record is written again and again: there is nothing less', async () => {
    const { runtime, writer, fail } = scene()
    fail('send', ...Array.from({ length: 5 }, () => error('RETRIABLE')))
    await runtime.run(async () => expect(await writer.write(ofOneRecord)).toEqual({ kind: 'COMMITTED' }))
  })

  test('is begun, sent with its offset and committed', async () => {
    const { runtime, writer, steps } = scene()
    await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'COMMITTED' }))
    expect(steps).toEqual(whole(1))
  })

  test.each(['send', 'sendOffsets', 'commit'] as const)('is aborted and written again when %s fails', async (name) => {
    const { runtime, writer, steps, fail } = scene()
    fail(name, error('ABORTABLE'))
    await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'COMMITTED' }))
    expect(steps.filter((one) => one.startsWith('abort'))).toEqual(['abort 1'])
    expect(steps.slice(-4)).toEqual(whole(1))
  })

  test.each([
    ['FENCED', 'commit'],
    ['UNKNOWN', 'commit'],
    ['FENCED', 'send'],
  ] as const)(
    'that ends %s at %s is looked for under another epoch, and written again when it is not there',
    async (kind, name) => {
      const { runtime, writer, steps, fail } = scene()
      fail(name, error(kind))
      await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'COMMITTED' }))
      expect(steps.slice(-6)).toEqual(['close 1', 'confirm', ...whole(2)])
      expect(steps).not.toContain('abort 1')
    },
  )

  test('that was committed although nobody was told is not written again', async () => {
    const { runtime, writer, steps, fail, state } = scene()
    fail('commit', error('UNKNOWN'))
    state.committed = 2n
    await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'COMMITTED' }))
    expect(steps).toEqual([...whole(1), 'close 1', 'confirm', 'begin 2', 'abort 2'])
  })

  test('of a group that somebody else has moved is no matter to guess about', async () => {
    const { runtime, writer, fail, state } = scene()
    fail('commit', error('UNKNOWN'))
    state.committed = 1n
    await runtime.run(() => expect(writer.write(transaction)).rejects.toThrow('has 1 committed, where 0 or 2 was due'))
  })

  test('of one that is no member any more is not begun again: it would fence the next owner', async () => {
    const { runtime, writer, steps, fail, state } = scene({ isMember: false })
    fail('commit', error('FENCED'))
    await runtime.run(async () => {
      const writing = writer.write(transaction)
      await runtime.timers.sleep(2_000)
      expect(state.producers).toBe(1)
      await writer.stop()
      expect(await writing).toEqual({ kind: 'OVER' })
    })
    expect(steps).toContain('confirm')
  })

  test.each([
    ['refuses for good', error('FATAL')],
    ['does not have', new KafkaError('nowhere', 'RETRIABLE', { reason: 'UNKNOWN_TOPIC_OR_PARTITION' })],
  ])('is aborted, and the part told, when a topic %s what it sends', async (_, cause) => {
    const { runtime, writer, steps, fail } = scene()
    fail('send', error('ABORTABLE', cause))
    await runtime.run(async () =>
      expect(await writer.write(transaction)).toEqual({ kind: 'REFUSED', refusals: new Map([[0, cause]]) }),
    )
    expect(steps.at(-1)).toBe('abort 1')
  })

  test('L2 that one part breaks says nothing about a part that was still on its way', async () => {
    const runtime = createVirtualRuntime(1)
    const cluster = createSimCluster({ runtime })
    cluster.createTopic('out')
    const troubled = troubledTransport(cluster.transport('writer'))
    const client = createKafkaClient({ brokers: cluster.brokers, transport: troubled.transport, runtime })
    const group = { groupId: 'g', generationId: -1, memberId: '', instanceId: null }
    const writer = new TransactionWriter(
      {
        at,
        runtime,
        consumer: {
          committed: async () => [{ ...at, offset: 0n, metadata: null }],
          groupMetadata: () => group,
          confirmMembership: async () => true,
        },
        createProducer: () => client.transactionalProducer('id'),
        troubled: () => {},
      },
      0n,
    )
    const nowhere = [{ topic: 'nowhere', key: null, value: null }]
    troubled.begin('AddPartitionsToTxn', 'NEVER_SENT')
    await runtime.run(async () => {
      const written = await writer.write({ ...transaction, parts: [...transaction.parts.slice(0, 1), nowhere] })
      expect(written).toMatchObject({ kind: 'REFUSED' })
      expect(written.kind === 'REFUSED' ? [...written.refusals.keys()] : []).toEqual([1])
      await writer.stop()
      await client.close()
    })
  })

  test('that cannot be aborted is left to the next producer', async () => {
    const { runtime, writer, steps, fail } = scene()
    fail('send', error('ABORTABLE'))
    fail('abort', error('FATAL'))
    await runtime.run(async () => expect(await writer.write(transaction)).toEqual({ kind: 'COMMITTED' }))
    expect(steps.slice(-6)).toEqual(['close 1', 'confirm', ...whole(2)])
  })

  test('that fails three times is told, and tried on', async () => {
    const { runtime, writer, troubles, fail } = scene()
    fail('begin', ...Array.from({ length: 4 }, () => error('RETRIABLE')))
    await runtime.run(async () => expect(await writer.write(ofOneRecord)).toEqual({ kind: 'COMMITTED' }))
    expect(troubles).toHaveLength(2)
    expect(troubles[0]).toMatch(/^A transaction for orders-0 could not be committed: it is RETRIABLE/)
  })
})
