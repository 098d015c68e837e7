import type { Buffer } from 'node:buffer'
import { hostile } from '@waybill/test-support'
import { watchRejections } from '@waybill/test-support/kafka'
import { describe, expect, test } from 'vitest'
import type { Binding } from '../../src/api/binding.ts'
import type { DecodeOption } from '../../src/api/decode-option.ts'
import type { DecodedRecord } from '../../src/api/handler-types.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'
import { committedOffsets, topicValues } from './topic-records.ts'

watchRejections()

const retry = { tier0: { maxAttempts: 2 }, tiers: [{ delayMs: 1_000, maxAttempts: 1 }] }
/** Values that cannot even be asked whether they are a promise. */
const unreadable = (): unknown =>
  new Proxy(
    {},
    {
      get: () => {
        throw new Error('trap')
      },
    },
  )

type Given = Partial<
  Pick<Binding, 'listenerType' | 'orderingMode' | 'parallelism' | 'transactional' | 'handlerTimeoutMs'>
>

const kinds: readonly (readonly [string, Given])[] = [
  ['one by one', {}],
  ['in the order of each key', { orderingMode: 'KEY', parallelism: 'KEY' }],
  ['in transactions', { transactional: true }],
  ['in batches', { listenerType: 'BATCH' }],
]

/** Starts a binding whose decoder is hostile to values that begin with `bad`. */
async function open(
  { sim, connector }: ConnectorWorld,
  decodeBad: (name: string) => unknown,
  given: Given,
): Promise<{ readonly handled: string[]; readonly bus: ReturnType<ConnectorWorld['connector']> }> {
  sim.createTopic('orders')
  const handled: string[] = []
  const decode = (bytes: Buffer): unknown => {
    const text = bytes.toString()
    return text.startsWith('bad') ? decodeBad(text.slice(4)) : text
  }
  const handle = ({ value }: DecodedRecord): void => void handled.push(String(value))
  const handler =
    given.listenerType === 'BATCH' ? { handleBatch: (all: readonly DecodedRecord[]) => all.forEach(handle) } : handle
  const binding = {
    topic: 'orders',
    groupId: 'g',
    retry,
    decode: decode as DecodeOption,
    handler,
    ...given,
  } as unknown as Binding
  const bus = connector({ bindings: { shipping: binding } })
  await bus.start()
  return { handled, bus }
}

describe('S0-080 a decoder that throws what is no error', () => {
  test.each(kinds)('makes a dead letter of each of its records, and disturbs no other: %s', (_, given) =>
    connectorWorld(async (world) => {
      const throwing = Object.entries(hostile).map(([name, make]) => [`throws ${name}`, make] as const)
      const rejecting = Object.entries(hostile).map(([name, make]) => [`rejects with ${name}`, make] as const)
      const makers = new Map<string, () => unknown>([...throwing, ...rejecting])
      const names = [...makers.keys()].map((name) => `bad ${name}`)
      const { handled, bus } = await open(
        world,
        (name) => {
          const thrown = makers.get(name)?.()
          if (name.startsWith('throws')) throw thrown
          return Promise.reject(thrown)
        },
        given,
      )
      await world.write('orders', ['first', ...names, 'last'])
      await world.eventually(() => expect(handled).toEqual(['first', 'last']))
      await world.eventually(() =>
        expect(topicValues(world.sim, 'orders.DLT').filter(isBad).toSorted()).toEqual(names.toSorted()),
      )
      await bus.stop()
      expect(committedOffsets(world.sim, 'g', 'orders')).toEqual({ 0: BigInt(names.length + 2) })
    }),
  )

  test.each(kinds)('does not take a value that cannot be read for a success: %s', (_, given) =>
    connectorWorld(async (world) => {
      const { handled, bus } = await open(world, unreadable, given)
      await world.write('orders', ['first', 'bad', 'last'])
      await world.eventually(() => expect(handled).toEqual(['first', 'last']))
      await world.eventually(() => expect(topicValues(world.sim, 'orders.DLT').filter(isBad)).toEqual(['bad']))
      await bus.stop()
    }),
  )
})

describe('L4 a decoder that never answers', () => {
  test('holds up its partition alone, and health names it', () =>
    connectorWorld(async (world) => {
      const { handled, bus } = await open(world, () => new Promise(() => {}), {})
      await world.write('orders', ['first', 'bad', 'last'])
      await world.sleep(20 * 60_000)
      expect(handled).toEqual(['first'])
      expect(bus.health()).toMatchObject({ status: 'DOWN', reasons: [expect.stringContaining('orders-0')] })
      expect(world.sim.group('g').members).toHaveLength(1)
      expect(committedOffsets(world.sim, 'g', 'orders')).toEqual({ 0: 1n })
    }))

  test.each(kinds)('fails like a handler with handlerTimeoutMs, and the others are handled: %s', (_, given) =>
    connectorWorld(async (world) => {
      const { handled, bus } = await open(world, () => new Promise(() => {}), { ...given, handlerTimeoutMs: 1_000 })
      await world.write('orders', ['first', 'bad', 'last'])
      await world.eventually(() => expect(handled).toEqual(['first', 'last']))
      await world.eventually(() => expect(topicValues(world.sim, 'orders.DLT').filter(isBad)).toEqual(['bad']))
      await bus.stop()
    }),
  )

  test('may answer twice: one call is made', () =>
    connectorWorld(async (world) => {
      const late = {}
      Reflect.set(late, 'then', answerTwice)
      const { handled, bus } = await open(world, () => late, {})
      await world.write('orders', ['bad', 'last'])
      await world.eventually(() => expect(handled).toEqual(['answer 1', 'last']))
      await bus.stop()
    }))
})

function answerTwice(answer: (value: string) => void): void {
  answer('answer 1')
  answer('answer 2')
}

/** Leaves out the control records of transactions. */
function isBad(value: string): boolean {
  return value.startsWith('bad')
}
