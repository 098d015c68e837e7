import { Buffer } from 'node:buffer'
import { ArgumentError } from '@waybill/core'
import { type KafkaClient, KafkaError, type OutRecord } from '@waybill/kafka'
import { expect, test } from 'vitest'
import type { SelectedReplayOptions } from '../../src/api/dead-letter-selection.ts'
import { resolveBinding } from '../../src/options/binding-options.ts'
import { ReplayInterruptedError } from '../../src/replay/replay-errors.ts'
import {
  deadLetterAt,
  openSelectedReplay,
  purgeRanges,
  rangesNow,
  replayPositions,
  type SelectedFrom,
} from '../../src/replay/selected-dead-letters.ts'
import { type ConnectorWorld, connectorWorld } from '../support/connector-world.ts'

const part = resolveBinding('shipping', { topic: 'orders', groupId: 'shipping', handler: () => {} })
const to: SelectedReplayOptions = { to: 'ORIGINAL' }
const at = (offset: bigint) => ({ topic: 'orders.DLT', partition: 0, offset })

const close = (): Promise<void> => Promise.resolve()

interface Scene extends SelectedFrom {
  readonly world: ConnectorWorld
  /** The values of the copies, in the order of their attempts. */
  readonly tried: string[]
}

/**
 * Runs a program with three dead letters, the last of another group.
 * @param answer - the outcome of an attempt to write a copy, counted from 1
 */
function withLetters(program: (scene: Scene) => Promise<void>, answer: (attempt: number) => void = () => {}) {
  return connectorWorld(async (world) => {
    for (const topic of ['orders', 'orders.DLT']) world.sim.createTopic(topic)
    await using producer = world.client.producer('EVENT')
    for (const [value, group] of [
      ['a', 'shipping'],
      ['b', 'shipping'],
      ['c', 'billing'],
    ] as const) {
      const headers = [['x-eventbus-consumer-group', Buffer.from(group)]] as const
      await producer.send({ topic: 'orders.DLT', key: null, value: Buffer.from(value), headers })
    }
    const tried: string[] = []
    const send = async (copy: OutRecord) => {
      tried.push(String(copy.value))
      answer(tried.length)
      return { partition: 0, offset: 0n }
    }
    const writing = { send, flush: close, close, [Symbol.asyncDispose]: close }
    const client: KafkaClient = { ...world.client, producer: () => writing }
    await program({ world, parts: [part], client, tried })
  })
}

test('a copy that was rejected for its content is sent once more, alone', () =>
  withLetters(
    async ({ tried, world, ...from }) => {
      expect(await replayPositions(from, world.runtime, [at(0n), at(1n)], to)).toMatchObject({ replayed: 2 })
      expect(tried).toEqual(['a', 'b', 'a'])
    },
    (attempt) => {
      if (attempt === 1) throw new ArgumentError('A record beside it is too large.')
    },
  ))

test('an interrupted replay reports the dead letters that were not sent as remaining', () =>
  withLetters(
    async ({ world, ...from }) => {
      const replaying = replayPositions(from, world.runtime, [at(0n), at(1n)], to)
      await expect(replaying).rejects.toThrow(ReplayInterruptedError)
      await expect(replaying).rejects.toMatchObject({ report: { replayed: 1, remaining: 1n } })
    },
    (attempt) => {
      if (attempt === 2) throw new KafkaError('Not now.', 'RETRIABLE')
    },
  ))

test('a dead letter of another group is not shown', () =>
  withLetters(async (from) => {
    expect(String((await deadLetterAt(from, at(1n)))?.record.value)).toBe('b')
    expect(await deadLetterAt(from, at(2n))).toBeUndefined()
  }))

test('a purge of ranges that reach beyond the log deletes what is there', () =>
  withLetters(async (from) => {
    expect(await purgeRanges(from, [{ ...at(0n), from: 0n, until: 99n }])).toBe(3n)
    expect(await rangesNow(from)).toEqual([{ topic: 'orders.DLT', partition: 0, from: 3n, until: 3n }])
  }))

test('a batch has what was decided before a predicate failed, and the next one continues there', () =>
  withLetters(async ({ world, ...from }) => {
    let failures = 1
    const where = ({ offset }: { readonly offset: bigint }): Promise<boolean> => {
      if (offset === 1n && failures-- > 0) return Promise.reject(new Error('no index'))
      return Promise.resolve(true)
    }
    const ranges = await rangesNow(from)
    await using replay = await openSelectedReplay(from, world.runtime, { ranges, where }, to)
    const [first, second] = [await replay.next(10), await replay.next(10)]
    expect(first?.selected.map(({ offset }) => offset)).toEqual([0n])
    expect(first?.remaining).toEqual([{ topic: 'orders.DLT', partition: 0, from: 1n, until: 3n }])
    expect([second?.selected.map(({ offset }) => offset), second?.scanned]).toEqual([[1n], 2])
    expect(await replay.next(10)).toBeUndefined()
  }))

test('a replay that is disposed while a predicate decides opens nothing more, and its step ends', () =>
  withLetters(async ({ world, client, ...from }) => {
    const ranges = await rangesNow({ client, ...from })
    const opened: unknown[] = []
    const counting: KafkaClient = {
      ...client,
      reader(read) {
        opened.push(read)
        return client.reader(read)
      },
      producer(...options) {
        opened.push(options)
        return client.producer(...options)
      },
    }
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
    const where = (): Promise<boolean> => {
      asked.resolve()
      return answer.promise
    }
    const replay = await openSelectedReplay({ client: counting, ...from }, world.runtime, { ranges, where }, to)
    const next = replay.next(10)
    await asked.promise
    await replay[Symbol.asyncDispose]()
    answer.resolve(true)
    await expect(next).rejects.toThrow('The replay is closed.')
    await expect(replay.next(10)).rejects.toThrow('The replay is closed.')
    const empty = { scanned: 0, selected: [], refused: [], remaining: [] }
    await expect(replay.send(empty)).rejects.toThrow('The replay is closed.')
    expect(opened).toHaveLength(1)
  }))
