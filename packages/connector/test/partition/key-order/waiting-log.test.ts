import { Buffer } from 'node:buffer'
import { createMemoryLogger } from '@waybill/core'
import type { KafkaClient, OutRecord } from '@waybill/kafka'
import type { FencedAppender } from '@waybill/kafka/internal'
import { createVirtualRuntime } from '@waybill/sim'
import { describe, expect, test } from 'vitest'
import { Work } from '../../../src/delivery/work.ts'
import { Ledger, ledgerStateAt } from '../../../src/ledger/ledger.ts'
import { KeyChains, type RunStep } from '../../../src/partition/key-order/key-chains.ts'
import { WaitingLog } from '../../../src/partition/key-order/waiting-log.ts'
import { releaseRecord, replayRecord } from '../../../src/partition/key-order/waiting-record.ts'
import { workOf } from '../../delivery/work-of.ts'
import { fetched, headerMap } from '../../records/fetched.ts'
import { originalAt } from './waiting-copies.ts'

const place = { source: { topic: 'orders', partition: 0 }, waiting: { topic: 'w', partition: 0 }, groupId: 'group' }
const day = 24 * 3_600_000
const waitingPlace = { kind: 'WAITING', groupId: 'group', consumerInstance: 'host-0' } as const
const slice = { handedOverAt: 0, startedAt: 0, era: 0 }
const failure = { error: new Error('no'), attempts: 1, atMs: 0 }

/** A waiting topic of which all that is written is read at once, and its owner. */
function logScene({ spanLimit = 100 }: { spanLimit?: number } = {}) {
  const runtime = createVirtualRuntime(1)
  const logger = createMemoryLogger()
  const chains = new KeyChains()
  const written: OutRecord[] = []
  const deleted: bigint[] = []
  const ids: string[] = []
  const source = new Ledger(ledgerStateAt(0n))
  const state = { opened: 0, isRefusing: false, asked: 0, changes: 0 }
  const append = async (record: OutRecord) => {
    written.push(record)
    return { partition: 0, offset: BigInt(written.length - 1) }
  }
  const appender = { epoch: 1, append, renew: async () => {}, close: async () => {} } as unknown as FencedAppender
  const client = {
    fencedAppender: async (id: string) => {
      ids.push(id)
      return appender
    },
    admin: {
      deleteRecords: async ([{ before }]: [{ before: bigint }]) => {
        if (state.isRefusing) throw new Error('not now')
        deleted.push(before)
        return []
      },
      listOffsets: async () => {
        state.asked++
        if (state.isRefusing) throw new Error('not now')
        return [{ ...place.source, outcome: 'DONE', offset: 1_000n }]
      },
    },
  } as unknown as KafkaClient
  const log = new WaitingLog(
    {
      place,
      redact: (text) => text,
      runtime: { ...runtime, logger },
      client,
      consumer: { confirmMembership: async () => true },
      chains,
      spanLimit,
      isSourceSettled: (offset) => offset < source.watermark,
      settleSource: (work, as) => {
        source.settle(work.offset, as)
        return true
      },
      replaced: () => {},
      workOf: ({ record, tier }) => new Work(record, { ...waitingPlace, tier }, slice, 0),
      dueAtOf: () => 0,
      opened: () => void state.opened++,
      changed: () => {
        state.changes++
        log.keepSpan()
      },
      troubled: () => {},
      recovered: () => {},
      fail: (error) => {
        throw error
      },
    },
    { ...ledgerStateAt(0n), replaysFinished: 0n, waitingNow: 0n },
    () => true,
  )
  let read = 0
  return {
    runtime,
    logger,
    chains,
    written,
    deleted,
    ids,
    source,
    log,
    state,
    append,
    kinds: () => written.map((record) => headerMap(record)['x-eventbus-waiting-kind']),
    /** Lets time pass; what was written by then was read, and the group knows. */
    pass: async (ms = 10) => {
      await runtime.advance(ms)
      for (; read < written.length; read++) log.accept(fetched(written[read] as OutRecord, { offset: BigInt(read) }))
      log.committed(log.state().position)
      await runtime.advance(10)
    },
    hold: (offset: number, key = 'a') => {
      const work = workOf({ offset: BigInt(offset), key: Buffer.from(key) })
      source.fetched(work.offset)
      log.hold(work, `+${key}`, { tier: 1, attempt: 1, dueMs: 0 }, failure)
    },
    /** Takes the entry that may run. */
    run: (): RunStep => {
      const step = chains.peek(0) as RunStep
      chains.take(step)
      return step
    },
  }
}

describe('WaitingLog', () => {
  test('takes its epoch under the name of topic, group and partition', async () => {
    const { log, pass, ids, state } = logScene()
    log.start()
    await pass()
    await pass()
    expect([ids, state.opened, log.isOpen]).toEqual([['orders.group.waiting.0'], 1, true])
  })

  test('renews its epoch each day', async () => {
    const { log, pass, kinds } = logScene()
    log.start()
    await pass()
    await pass(day)
    await pass(day)
    expect(kinds()).toEqual(['FENCE', 'FENCE', 'FENCE'])
    await log.stop()
    await pass(3 * day)
    expect(kinds()).toHaveLength(3)
  })

  test('deletes what lies below the position that was committed one renewal ago', async () => {
    const { log, pass, hold, run, deleted } = logScene()
    log.start()
    await pass()
    hold(0)
    await pass()
    log.finish(run().entry as never, 'OK')
    await pass()
    const { position } = log.state()
    await pass(day)
    expect(deleted).toEqual([])
    await pass(day)
    expect(deleted).toEqual([position])
  })

  test('goes on when records cannot be deleted, and deletes them a day later', async () => {
    const { log, pass, deleted, state, logger } = logScene()
    log.start()
    await pass()
    await pass()
    state.isRefusing = true
    await pass(day)
    await pass(day)
    expect(logger.lines.map(({ text }) => text)).toEqual(['Settled waiting records not deleted, retrying tomorrow'])
    state.isRefusing = false
    await pass(day)
    expect(deleted).toHaveLength(1)
  })

  test('keeps a copy until the next attempt is in the log', async () => {
    const { log, pass, hold, run, runtime } = logScene()
    log.start()
    await pass()
    hold(0)
    await pass()
    const { entry } = run()
    const before = log.state().position
    log.holdAgain(entry as never, { tier: 1, attempt: 2, dueMs: 0 }, failure)
    expect([log.state().position, log.state().counts.retried]).toEqual([before, 0n])
    await runtime.advance(10)
    expect(log.state()).toMatchObject({ counts: { retried: 1n }, waitingNow: 1n })
    await pass()
    expect(log.size).toBe(1)
  })

  test('writes the lowest record again when the log has grown too far beyond it', async () => {
    const { log, pass, hold, append, kinds } = logScene({ spanLimit: 4 })
    log.start()
    await pass()
    hold(0)
    await pass()
    const { position } = log.state()
    for (let time = 0; time < 5; time++) await append({ ...place.waiting, key: null, value: null })
    await pass()
    await pass()
    expect(kinds().filter((kind) => kind === 'HELD')).toHaveLength(2)
    expect([log.state().position - position, log.size, log.state().counts.retried]).toEqual([6n, 1, 1n])
  })

  test('writes a replay that has to move as a record that is held for that replay', async () => {
    const { log, pass, append, written, source } = logScene({ spanLimit: 2 })
    source.fetched(0n)
    source.settle(0n, 'DEAD')
    log.start()
    await pass()
    await append(replayRecord(place, originalAt(0), 1, { value: Buffer.from('v'), headers: [] }))
    await pass()
    for (let time = 0; time < 3; time++) await append({ ...place.waiting, key: null, value: null })
    await pass()
    await pass()
    expect(headerMap(written.at(-1) as OutRecord)).toMatchObject({
      'x-eventbus-waiting-kind': 'HELD',
      'x-eventbus-replay-count': '1',
      'x-eventbus-original-offset': '0',
      'x-eventbus-retry-tier': '0',
    })
    expect([log.size, log.state().counts.retried]).toEqual([1, 1n])
  })

  test('writes a replay that has no outcome to answer it once more, as it is', async () => {
    const { log, pass, append, written, source, kinds } = logScene({ spanLimit: 2 })
    source.fetched(0n)
    log.start()
    await pass()
    const headers = [['h', Buffer.from('1')]] as const
    const replay = replayRecord(place, originalAt(0), 1, { value: Buffer.from('v'), headers })
    await append(replay)
    await pass()
    for (let time = 0; time < 3; time++) await append({ ...place.waiting, key: null, value: null })
    await pass()
    await pass()
    expect(kinds().filter((kind) => kind === 'REPLAY')).toHaveLength(2)
    const moved = written.at(-1) as OutRecord
    expect([moved.topic, String(moved.value), headerMap(moved)]).toEqual(['w', 'v', headerMap(replay)])
    expect([log.size, log.state().position]).toEqual([0, BigInt(written.length - 1)])
  })

  test('moves nothing while more than half of it is kept: that would have no end', async () => {
    const { log, pass, append, written, source } = logScene({ spanLimit: 4 })
    source.fetched(0n)
    log.start()
    await pass()
    for (let offset = 1; offset < 40; offset++) await append(releaseRecord(place, originalAt(offset), 0))
    const { length } = written
    for (let time = 0; time < 5; time++) await pass()
    expect([written.length, log.isTooLong, log.isCommittable]).toEqual([length, false, true])
    for (let time = 0; time < 40; time++) await append({ ...place.waiting, key: null, value: null })
    for (let time = 0; time < 60; time++) await pass()
    // Each of them once.
    expect([written.length, log.isTooLong]).toEqual([length + 40 + 39, false])
  })

  test('L1: tells that a replay may run once the source has passed its original, which was deleted', async () => {
    const { log, pass, append, state, chains, source } = logScene()
    log.start()
    await pass()
    source.fetched(0n)
    await append(replayRecord(place, originalAt(5), 1, { value: Buffer.from('v'), headers: [] }))
    await pass()
    source.reached(10n)
    source.settle(0n, 'OK')
    expect(chains.peek(0)).toBeUndefined()
    const { changes } = state
    log.sourceReached(10n)
    expect([chains.peek(0)?.kind, state.changes]).toEqual(['RUN', changes + 1])
    log.sourceReached(10n)
    expect(state.changes).toBe(changes + 1)
  })

  test('asks where the source ends when a request names a record that has not come yet, until it is told', async () => {
    const { log, pass, append, state, chains } = logScene()
    log.start()
    await pass()
    state.isRefusing = true
    await append(replayRecord(place, originalAt(1_000), 1, { value: Buffer.from('v'), headers: [] }))
    await append(releaseRecord(place, originalAt(999), 0))
    await pass()
    await pass(3_000)
    expect([state.asked > 1, chains.peek(0)]).toEqual([true, undefined])
    state.isRefusing = false
    await pass(3_000)
    expect(chains.peek(0)).toMatchObject({ kind: 'RUN', entry: { replayCount: 1 } })
    const { asked } = state
    await pass(3_000)
    expect([state.asked, log.hasRequests]).toEqual([asked, true])
  })
})
